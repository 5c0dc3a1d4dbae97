// Producer world: an embedded queue with virtual time, an outbox in memory, and a target that fails
// on request.

import type { Broker } from "../../src/broker/engine/broker.ts";
import { createBrokerQueue } from "../../src/cloud/broker-queue.ts";
import { openCloud, type VirtualOpenCloud } from "../../src/cloud/open-cloud.ts";
import { TidegateError } from "../../src/core/errors.ts";
import type { EnvelopeInput } from "../../src/core/events/envelope.ts";
import { SILENT } from "../../src/ingest/telemetry/silent-telemetry.ts";
import { systemRandom } from "../../src/platform/system-random.ts";
import { systemTurn } from "../../src/platform/system-turn.ts";
import type { Outbox } from "../../src/ports/outbox.ts";
import type { OutgoingMessage, QueueSender, SendOutcome } from "../../src/ports/queue.ts";
import type { Telemetry } from "../../src/ports/telemetry.ts";
import { createMemoryOutbox } from "../../src/stores/memory/outbox.ts";

/** Intercepts a producer's sends to its queue. */
export type Interference = (
  messages: readonly OutgoingMessage[],
  send: (messages: readonly OutgoingMessage[]) => Promise<readonly SendOutcome[]>,
) => Promise<readonly SendOutcome[]>;

export interface ProducerWorld extends AsyncDisposable {
  readonly cloud: VirtualOpenCloud;
  readonly outbox: Outbox;
  readonly counts: Map<string, number>;
  readonly calls: (readonly OutgoingMessage[])[];
  interfere: Interference;
  readonly ports: {
    readonly target: QueueSender;
    readonly outbox: Outbox;
    readonly clock: VirtualOpenCloud["clock"];
    readonly random: typeof systemRandom;
    readonly turn: typeof systemTurn;
    readonly telemetry: Telemetry;
  };
  /** Parsed bodies of the queue's messages, in the order of acceptance. */
  messages(): Promise<{ body: Record<string, unknown>; groupId: string | null }[]>;
}

export async function createProducerWorld(
  queue = "orders.fifo",
  options: { readonly outbox?: Outbox; readonly messageBytesMax?: number } = {},
): Promise<ProducerWorld> {
  const cloud = await openCloud({ memory: true, clock: "virtual" });
  const attributes: Record<string, string> = queue.endsWith(".fifo") ? { FifoQueue: "true" } : {};
  await cloud.broker.submit("createQueue", { name: queue, attributes, tags: {} });
  const outbox = options.outbox ?? createMemoryOutbox({ clock: cloud.clock });
  const counts = new Map<string, number>();
  const calls: (readonly OutgoingMessage[])[] = [];
  const { messageBytesMax } = options;
  const inner = createBrokerQueue(cloud.broker, {
    queue,
    ...(messageBytesMax !== undefined && { messageBytesMax }),
  });
  const target: QueueSender = {
    ...inner,
    sendBatch(messages) {
      calls.push(messages);
      return world.interfere(messages, inner.sendBatch);
    },
  };
  const telemetry: Telemetry = {
    ...SILENT,
    count: (name, by = 1) => void counts.set(name, (counts.get(name) ?? 0) + by),
    record: (name) => void counts.set(name, (counts.get(name) ?? 0) + 1),
  };
  const ports = { target, outbox, clock: cloud.clock, random: systemRandom, turn: systemTurn };
  const world: ProducerWorld = {
    cloud,
    outbox,
    counts,
    calls,
    ports: { ...ports, telemetry },
    interfere: (messages, send) => send(messages),
    messages: () => peekAll(cloud, queue),
    [Symbol.asyncDispose]: () => cloud.close(),
  };
  return world;
}

const PEEK_PAGE = 1_000;

/** Everything on a queue, without receiving it. */
export async function peekAll(cloud: { readonly broker: Broker }, queue: string) {
  const messages: { body: Record<string, unknown>; groupId: string | null }[] = [];
  let afterSeq = -1;
  for (;;) {
    const page = await cloud.broker.submit("peek", { queue, afterSeq, limit: PEEK_PAGE });
    if (!page.ok) throw new Error(page.fault.message);
    for (const { body, groupId } of page.value.messages) {
      messages.push({ body: JSON.parse(body), groupId });
    }
    if (page.value.nextAfterSeq === null) return messages;
    afterSeq = page.value.nextAfterSeq;
  }
}

export function event(key: string, more: Partial<EnvelopeInput> = {}): EnvelopeInput {
  return {
    source: "kfm.remote-sensing.landsat",
    dedupeKey: key,
    eventTime: "2026-11-15T08:00:00Z",
    payload: { scene: key },
    ...more,
  };
}

/** Lets virtual time pass until `work` is done: retries sleep on the world's clock. */
export async function passTime<T>(world: ProducerWorld, work: Promise<T>): Promise<T> {
  let done = false;
  const settled = work.finally(() => {
    done = true;
  });
  settled.catch(() => {}); // The caller gets the error from the returned promise.
  for (let step = 0; !done && step < 10_000; step += 1) await world.cloud.clock.advance(1_000);
  return settled;
}

export const unavailable = () =>
  Promise.reject(new TidegateError("TG_QUEUE_UNAVAILABLE", "connection lost"));
