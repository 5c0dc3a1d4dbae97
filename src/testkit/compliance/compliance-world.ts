// Compliance world: a fresh embedded FIFO queue with virtual time, and one producer under test.
//   W1. Content-based deduplication is on, as for teams that rely on it: what a producer leaves to
//       the queue is judged as the queue judges it.
//   W2. Only what arrives counts. Whether a producer returns messages, sends them, or remembers
//       what it sent, is its own affair.

import { createBrokerQueue } from "../../cloud/broker-queue.ts";
import { startCloud } from "../../cloud/start-cloud.ts";
import type { JsonObject } from "../../core/encoding/canonical-json.ts";
import { TidegateError } from "../../core/errors.ts";
import type { EpochMs } from "../../core/units.ts";

/** What a producer is asked to send. */
export interface ComplianceEvent {
  readonly source: string;
  readonly dedupeKey: string;
  readonly eventTime: string;
  readonly payload: JsonObject;
  /** Drawn anew for every call, as a caller might; must make no other message. */
  readonly eventId: string;
  /** The caller's trace, new for every call; belongs into attributes. */
  readonly traceparent: string;
}

export interface ProducedMessage {
  readonly body: string;
  readonly attributes?: Readonly<Record<string, string>>;
  readonly groupId?: string;
  readonly dedupId?: string;
}

export interface ProducerTools {
  /** For producers that send by themselves: an SQS endpoint that takes any credentials. */
  readonly endpoint: string;
  readonly queueUrl: string;
  readonly region: string;
  /** Sends without HTTP. */
  send(message: ProducedMessage): Promise<void>;
  /** The virtual time. */
  now(): EpochMs;
}

/** Returns the message of an event, or sends it and returns nothing. */
export type ProducerUnderTest = (
  event: ComplianceEvent,
  tools: ProducerTools,
) => unknown | Promise<unknown>;

export interface ReceivedEvent {
  readonly body: string;
  readonly groupId: string | null;
}

/** One call of the producer, some time after the former. */
export interface ComplianceStep {
  readonly event: ComplianceEvent;
  readonly afterMs?: number;
}

const QUEUE = "compliance.fifo";
const ARRIVALS_MAX = 100;
/** Stands in where a producer names no group, so that other checks can go on. */
const NO_GROUP = "tidegate.no-group-was-named";

/** Runs the steps against a fresh queue and gives what arrived, in order. */
export async function receivedEventsOf(
  producer: ProducerUnderTest,
  steps: readonly ComplianceStep[],
): Promise<ReceivedEvent[]> {
  await using cloud = await startCloud({ memory: true, clock: "virtual" });
  const attributes = { FifoQueue: "true", ContentBasedDeduplication: "true" }; // W1
  const made = await cloud.broker.submit("createQueue", { name: QUEUE, attributes, tags: {} });
  if (!made.ok) throw new TidegateError("TG_QUEUE_REFUSED", made.fault.message);
  const queue = createBrokerQueue(cloud.broker, { queue: QUEUE });
  const send = async (message: ProducedMessage) => {
    const { body, attributes: named = {}, groupId = NO_GROUP, dedupId = null } = message;
    const [outcome] = await queue.sendBatch([{ body, attributes: named, groupId, dedupId }]);
    if (outcome?.kind !== "refused") return;
    const reason = `the queue refused the message: ${outcome.code}: ${outcome.message}`;
    throw new TidegateError("TG_MESSAGE_REFUSED", reason);
  };
  const { account, region } = cloud.broker;
  const queueUrl = `${cloud.endpoint}/${account}/${QUEUE}`;
  const now = () => cloud.clock.now();
  for (const { event, afterMs = 0 } of steps) {
    await cloud.clock.advance(afterMs);
    const tools = { endpoint: cloud.endpoint, queueUrl, region, send, now };
    for (const message of messagesIn(await producer(event, tools))) await send(message);
  }
  const page = { queue: QUEUE, afterSeq: -1, limit: ARRIVALS_MAX };
  const seen = await cloud.broker.submit("peek", page);
  if (!seen.ok) throw new TidegateError("TG_QUEUE_REFUSED", seen.fault.message);
  return seen.value.messages.map(({ body, groupId }) => ({
    body,
    groupId: groupId === NO_GROUP ? null : groupId,
  }));
}

/** What a producer returned that is meant to be sent: one message, several, or none. */
function messagesIn(returned: unknown): ProducedMessage[] {
  const list = Array.isArray(returned) ? returned : [returned];
  return list.filter(
    (item): item is ProducedMessage =>
      typeof item === "object" && item !== null && typeof item.body === "string",
  );
}
