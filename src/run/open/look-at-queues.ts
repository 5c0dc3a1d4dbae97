// Look at queues: what is in the queues of a pipeline, without receiving anything.
//   L1. The embedded cloud shows its messages, in this process or over HTTP. Any other endpoint
//       only counts them.
//   L2. A queue with more than LOOKED_AT_MAX messages is not read to its end: the caller learns
//       that it does not know all of them.

import type { Broker } from "../../broker/engine/broker.ts";
import type { PeekedMessage } from "../../broker/model/operations.ts";
import { TidegateError } from "../../core/errors.ts";
import type { QueuedMessage, QueueLook } from "../../ingest/late/complete-up-to.ts";
import type { Queue } from "../../ports/queue-receiver.ts";
import { isEmbeddedCloud } from "./endpoint-file.ts";

const PAGE_MAX = 100;
const LOOKED_AT_MAX = 100_000;
const ANSWER_MS_MAX = 10_000;

interface Page {
  readonly messages: readonly PeekedMessage[];
  readonly next: number | null;
}

/**
 * The queues of an endpoint: exact if it is an embedded cloud (L1). One with more than `max`
 * messages is only counted.
 */
export async function looksAt(
  endpoint: string | undefined,
  queues: readonly Queue[],
  deadLetters: string | null,
  max = Number.POSITIVE_INFINITY,
): Promise<QueueLook[]> {
  const isEmbedded = endpoint !== undefined && (await isEmbeddedCloud(endpoint));
  const lookAt = async (queue: Queue): Promise<QueueLook> => {
    const { name } = queue;
    const isShort =
      isEmbedded && (max === Number.POSITIVE_INFINITY || (await sizeOf(queue)) <= max);
    if (isShort) return exactLook(name, (after) => pageOver(endpoint, name, after));
    const isDeadLetters = name === deadLetters;
    return { kind: "counted", name, isDeadLetters, counts: () => queue.facts() };
  };
  return Promise.all(queues.map(lookAt));
}

async function sizeOf(queue: Queue): Promise<number> {
  const { visible, delayed, hidden } = await queue.facts();
  return visible + delayed + hidden;
}

/** Queues of the embedded cloud in this process; one that does not exist is empty. */
export function brokerLooks(broker: Broker, names: readonly string[]): QueueLook[] {
  return names.map((queue) =>
    exactLook(queue, async (afterSeq) => {
      const outcome = await broker.submit("peek", { queue, afterSeq, limit: PAGE_MAX });
      if (outcome.ok) return { ...outcome.value, next: outcome.value.nextAfterSeq };
      if (outcome.fault.name === "QueueDoesNotExist") return { messages: [], next: null };
      throw new TidegateError("TG_QUEUE_UNAVAILABLE", `${queue}: ${outcome.fault.message}`);
    }),
  );
}

/**
 * The same, but a queue with more than `max` messages is only counted. A page of messages walks the
 * whole queue, in the thread that also runs handlers.
 */
export async function boundedLooks(
  broker: Broker,
  names: readonly string[],
  max: number,
  deadLetters: string | null,
): Promise<QueueLook[]> {
  const outcome = await broker.submit("countQueues", { prefix: "" });
  if (!outcome.ok) throw new TidegateError("TG_QUEUE_UNAVAILABLE", outcome.fault.message);
  const { queues } = outcome.value;
  return brokerLooks(broker, names).map((look) => {
    const counts = queues.find(({ name }) => name === look.name);
    if (counts === undefined) return look;
    const { visible, delayed, inFlight: hidden } = counts;
    if (visible + delayed + hidden <= max) return look;
    const isDeadLetters = look.name === deadLetters;
    const read = async () => ({ visible, delayed, hidden });
    return { kind: "counted", name: look.name, isDeadLetters, counts: read };
  });
}

function exactLook(name: string, page: (after: number) => Promise<Page>): QueueLook {
  async function* messages(): AsyncGenerator<QueuedMessage> {
    let read = 0;
    for (let after: number | null = 0; after !== null; ) {
      const { messages: some, next }: Page = await page(after);
      for (const message of some) yield queued(message);
      read += some.length;
      if (read > LOOKED_AT_MAX) {
        const text = `${name} has more than ${LOOKED_AT_MAX} messages; wait until it is shorter`;
        throw new TidegateError("TG_QUEUE_UNAVAILABLE", text); // L2
      }
      after = next;
    }
  }
  return { kind: "exact", name, messages };
}

async function pageOver(endpoint: string, queue: string, after: number): Promise<Page> {
  const url = new URL(`/_tidegate/queues/${encodeURIComponent(queue)}/messages`, endpoint);
  url.searchParams.set("limit", String(PAGE_MAX));
  url.searchParams.set("after", String(after));
  const reply = await fetch(url, { signal: AbortSignal.timeout(ANSWER_MS_MAX) });
  if (!reply.ok) throw new TidegateError("TG_QUEUE_UNAVAILABLE", `${queue}: ${await reply.text()}`);
  const body = (await reply.json()) as { messages: PeekedMessage[]; nextAfter: number | null };
  return { messages: body.messages, next: body.nextAfter };
}

function queued({ messageId, body, attributes, groupId, sentAt, receiveCount }: PeekedMessage) {
  const text = Object.entries(attributes ?? {}).filter(
    ([, { type }]) => !type.startsWith("Binary"),
  );
  return {
    messageId,
    body,
    attributes: Object.fromEntries(text.map(([name, { value }]) => [name, value])),
    groupId,
    sentAt,
    receiveCount,
  };
}
