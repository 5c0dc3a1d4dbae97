// Compliance world: a fresh embedded FIFO queue with virtual time, and one producer under test.
//   W1. Content-based deduplication is on, as for teams that rely on it: messages without an
//       explicit deduplication id are deduplicated by their body.
//   W2. Only messages that arrive count. A producer may return messages, send them itself, or
//       remember what it sent.

import { createBrokerQueue } from "../../cloud/broker-queue.ts";
import { startCloud } from "../../cloud/start-cloud.ts";
import type { JsonObject } from "../../core/encoding/canonical-json.ts";
import { TidegateError } from "../../core/errors.ts";
import type { EpochMs } from "../../core/units.ts";

/** An event that the producer under test must send. */
export interface ComplianceEvent {
  readonly source: string;
  readonly dedupeKey: string;
  readonly eventTime: string;
  readonly payload: JsonObject;
  /** New for every call, as a caller might do; must not turn a duplicate into a new message. */
  readonly eventId: string;
  /** The caller's trace, new for every call; belongs in attributes. */
  readonly traceparent: string;
}

/** A message as a producer sends it to SQS. */
export interface ProducedMessage {
  readonly body: string;
  readonly attributes?: Readonly<Record<string, string>>;
  readonly groupId?: string;
  readonly dedupId?: string;
}

/** The queue that a producer under test sends to. Every check has a fresh one. */
export interface ProducerTools {
  /** For producers that send by themselves: an SQS endpoint that accepts any credentials. */
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

/** One call of the producer, some time after the previous one. */
export interface ComplianceStep {
  readonly event: ComplianceEvent;
  readonly afterMs?: number;
}

const QUEUE = "compliance.fifo";
const MESSAGES_MAX = 100;
/** Placeholder for a missing group, so that the other checks can continue. */
const NO_GROUP = "tidegate.no-group-was-named";

/** Runs the steps against a fresh queue and returns the messages that arrived, in order. */
export async function receivedEventsOf(
  producer: ProducerUnderTest,
  steps: readonly ComplianceStep[],
): Promise<ReceivedEvent[]> {
  await using cloud = await startCloud({ memory: true, clock: "virtual" });
  const attributes = { FifoQueue: "true", ContentBasedDeduplication: "true" }; // W1
  const created = await cloud.broker.submit("createQueue", { name: QUEUE, attributes, tags: {} });
  if (!created.ok) throw new TidegateError("TG_QUEUE_REFUSED", created.fault.message);
  const queue = createBrokerQueue(cloud.broker, { queue: QUEUE });
  const send = async (message: ProducedMessage) => {
    const { body, attributes: sentAttributes = {}, groupId = NO_GROUP, dedupId = null } = message;
    const [outcome] = await queue.sendBatch([
      { body, attributes: sentAttributes, groupId, dedupId },
    ]);
    if (outcome?.kind !== "refused") return;
    const reason = `the queue rejected the message: ${outcome.code}: ${outcome.message}`;
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
  const page = { queue: QUEUE, afterSeq: -1, limit: MESSAGES_MAX };
  const peeked = await cloud.broker.submit("peek", page);
  if (!peeked.ok) throw new TidegateError("TG_QUEUE_REFUSED", peeked.fault.message);
  return peeked.value.messages.map(({ body, groupId }) => ({
    body,
    groupId: groupId === NO_GROUP ? null : groupId,
  }));
}

/** The messages that a producer returned: one, several, or none. */
function messagesIn(returned: unknown): ProducedMessage[] {
  const list = Array.isArray(returned) ? returned : [returned];
  return list.filter(
    (item): item is ProducedMessage =>
      typeof item === "object" && item !== null && typeof item.body === "string",
  );
}
