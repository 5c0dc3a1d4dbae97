// Settle: deletes a delivery from the queue or returns it. It is the last stage, and the only one
// after receive that calls the queue.
//   S1. A delivery is settled only after the outcomes of all its records are durable.
//   S2. Deletes and visibility changes go out in batches: full ones immediately, others soon.
//   S3. A settlement may fail: the queue then redelivers the message, and claim recognises the
//       duplicate. So a failed settlement is retried a few times and then abandoned.
//   S4. Visibility changes keep their order, so that a FIFO group returns in order.
//   S5. Pending settlements are counted, so that a slow queue holds the receiver back. Otherwise
//       they would grow without bound.

import { linearBackoff, type RetryBounds, retryBounded } from "../../core/bounded-retry.ts";
import { reasonOf } from "../../core/errors.ts";
import type { TraceContext } from "../../core/events/trace-context.ts";
import { SQS_BATCH_ENTRIES_MAX, SQS_VISIBILITY_MS_MAX } from "../../core/limits.ts";
import { type DurationMs, durationMs, type EpochMs, msBetween } from "../../core/units.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Delivery, QueueReceiver, SettlementResult } from "../../ports/queue-receiver.ts";
import type { Span, Telemetry } from "../../ports/telemetry.ts";
import { CONSUMER_METRICS as METRICS, type StageName } from "../telemetry/metrics.ts";
import { messagingAttributes } from "../telemetry/record-spans.ts";

/** What to do with a delivery. */
export type Settlement =
  | { readonly kind: "delete" }
  | { readonly kind: "return"; readonly delayMs: DurationMs }
  /** The lease is lost: the consumer that has the delivery now settles it. */
  | { readonly kind: "leave" };

/** How long a settlement waits for others to share its request. */
const LINGER_MS: DurationMs = durationMs(50);
const TRIES_MAX = 4;
const RETRY_MS: DurationMs = durationMs(100);
const STAGE: { readonly stage: StageName } = { stage: "settle" };

const DONE = { kind: "done", value: undefined } as const;
const RETRY = { kind: "retry", reason: undefined } as const;

/** A delivery to settle, and the span of its work, which the request links. */
interface Entry {
  readonly receipt: string;
  readonly messageId: string;
  readonly trace: TraceContext | null;
}
type Change = Entry & { readonly visibilityMs: DurationMs };

/** The names of both requests: that of SQS, and that of the span. */
const DELETE = { action: "DeleteMessageBatch", operation: "delete" } as const;
const CHANGE = { action: "ChangeMessageVisibilityBatch", operation: "change_visibility" } as const;

export interface Settler {
  /** Settlements that the queue has not confirmed yet (S5). */
  readonly pending: number;
  settle(delivery: Delivery, settlement: Settlement, trace?: TraceContext | null): void;
  /** Resolves once all settlements so far are confirmed or abandoned. */
  flush(): Promise<void>;
}

export interface SettlerPorts {
  readonly clock: Clock;
  readonly queue: QueueReceiver;
  readonly telemetry: Telemetry;
}

/** Calls `onSettled` whenever `pending` falls. */
export function createSettler(ports: SettlerPorts, onSettled: () => void): Settler {
  const { clock, queue, telemetry } = ports;
  const remove = (some: readonly Entry[]) => queue.deleteBatch(some.map(receiptOf));
  const deletes = createOutgoing<Entry>(clock, (some) => tryAll(some, remove, DELETE));
  const bounds = boundsOf(clock);
  let pending = 0;
  let previous: Promise<void> = Promise.resolve();
  const changes = createOutgoing<Change>(clock, (some) => {
    const change = () => tryAll(some, (rest) => queue.changeVisibility(rest.map(changeOf)), CHANGE);
    previous = previous.then(change); // S4
    return previous;
  });

  /** Sends all items, then retries those that failed (S3). */
  async function tryAll<T extends Entry>(
    items: readonly T[],
    ask: (items: readonly T[]) => Promise<readonly SettlementResult[]>,
    { action, operation }: typeof DELETE | typeof CHANGE,
  ): Promise<void> {
    const requestedAt = clock.now();
    const span = spanOf(ports, operation, items);
    let remaining = items;
    let reason = "";
    await retryBounded<void, void>(bounds, async () => {
      telemetry.count(METRICS.sqsRequests.name, 1, { action });
      try {
        const results = await ask(remaining);
        reason = results.find((result) => result.kind === "failed")?.reason ?? reason;
        remaining = remaining.filter((_, at) => results[at]?.kind === "failed");
      } catch (error) {
        reason = reasonOf(error);
      }
      return remaining.length === 0 ? DONE : RETRY;
    });
    span.end(remaining.length === 0 ? {} : { errorType: "settlement-failed" });
    measure(ports, requestedAt, items.length - remaining.length);
    pending -= items.length;
    onSettled(); // S5
    if (remaining.length === 0) return; // S3
    const fields = { action, entries: remaining.length, reason };
    telemetry.log("warn", "settlement failed; the queue will redeliver these messages", fields);
  }

  return {
    get pending() {
      return pending;
    },
    settle({ receipt, messageId }, settlement, trace = null) {
      if (settlement.kind !== "leave") pending += 1;
      if (settlement.kind === "delete") deletes.add({ receipt, messageId, trace });
      else if (settlement.kind === "return") {
        const visibilityMs = durationMs(Math.min(settlement.delayMs, SQS_VISIBILITY_MS_MAX));
        changes.add({ receipt, messageId, trace, visibilityMs });
      }
    },
    async flush() {
      await Promise.all([deletes.flush(), changes.flush()]);
    },
  };
}

const receiptOf = ({ receipt }: Entry) => receipt;
const changeOf = ({ receipt, visibilityMs }: Change) => ({ receipt, visibilityMs });

/** One span per request, retries included, with a link to the work on each message. */
function spanOf(
  { queue, telemetry }: SettlerPorts,
  operation: string,
  entries: readonly Entry[],
): Span {
  return telemetry.span(`${operation} ${queue.name}`, {
    kind: "client",
    links: entries.flatMap(({ trace, messageId }) =>
      trace === null ? [] : [{ context: trace, attributes: { "messaging.message.id": messageId } }],
    ),
    attributes: {
      ...messagingAttributes(queue.name, operation, "settle"),
      "messaging.batch.message_count": entries.length,
    },
  });
}

function boundsOf(clock: Clock): RetryBounds {
  const sleep = (span: DurationMs) => clock.sleep(span);
  return { triesMax: TRIES_MAX, pause: { delayMs: linearBackoff(RETRY_MS), sleep } };
}

function measure(
  { clock, telemetry }: { readonly clock: Clock; readonly telemetry: Telemetry },
  since: EpochMs,
  settled: number,
): void {
  const seconds = Math.max(0, msBetween(since, clock.now())) / 1_000;
  for (let at = 0; at < settled; at += 1) telemetry.record(METRICS.latency.name, seconds, STAGE);
}

interface Outgoing<T> {
  add(item: T): void;
  flush(): Promise<void>;
}

/** Gathers items into batches of ten (S2). */
function createOutgoing<T>(
  clock: Clock,
  send: (items: readonly T[]) => Promise<void>,
): Outgoing<T> {
  let waiting: T[] = [];
  let lingering = false;
  let sending = 0;
  const idle: (() => void)[] = [];

  function sendWaiting(): void {
    while (waiting.length > 0) {
      const batch = waiting.slice(0, SQS_BATCH_ENTRIES_MAX);
      waiting = waiting.slice(SQS_BATCH_ENTRIES_MAX);
      sending += 1;
      void send(batch).finally(() => {
        sending -= 1;
        if (sending > 0 || waiting.length > 0) return;
        for (const resolve of idle.splice(0)) resolve();
      });
    }
  }

  async function linger(): Promise<void> {
    lingering = true;
    await clock.sleep(LINGER_MS);
    lingering = false;
    sendWaiting();
  }

  return {
    add(item) {
      waiting.push(item);
      if (waiting.length >= SQS_BATCH_ENTRIES_MAX) sendWaiting();
      else if (!lingering) void linger();
    },
    flush() {
      sendWaiting();
      if (sending === 0) return Promise.resolve();
      return new Promise<void>((resolve) => idle.push(resolve));
    },
  };
}
