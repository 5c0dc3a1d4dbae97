// Receive: asks the queue for as much as there is room for, and no more.
//   V1. A receive is asked for only when all that it may bring has a place: what is in hand, and
//       what receives under way may bring, never exceeds the room.
//   V2. Receives are long polls of ten. While they come back full, several run at once; an idle
//       queue is asked by one.
//   V3. A queue that fails is asked again after a growing, jittered pause, never in a hot loop.
//   V4. After `stop`, no receive begins, and what one under way still brings is handed on.
//   V5. A lease begins when the queue hands over, which is somewhere between question and answer.
//       Of a long poll most of that time was waiting, so no more than a share of the lease is given
//       up.

import { SQS_BATCH_ENTRIES_MAX, SQS_RECEIVE_WAIT_MS_MAX } from "../core/limits.ts";
import { type DurationMs, type EpochMs, epochMs } from "../core/units.ts";
import type { Clock } from "../ports/clock.ts";
import type { Delivery, QueueReceiver } from "../ports/queue-receiver.ts";
import type { Random } from "../ports/random.ts";
import type { Telemetry } from "../ports/telemetry.ts";
import { CONSUMER_METRICS as METRICS } from "./metrics.ts";
import { pollBackoffMs } from "./policy/retry.ts";

export interface Receiver {
  start(): void;
  /** There may be room again, or leave to go on. */
  wake(): void;
  /** Resolves once no receive is under way (V4). */
  stop(): Promise<void>;
}

export interface ReceiverOptions {
  readonly visibilityMs: DurationMs;
  readonly receivesMax: number;
  /** Deliveries that may be taken in hand now. */
  readonly room: () => number;
  /** When receiving may go on: 0 for now, null for whenever `wake` is called. */
  readonly pausedForMs: () => DurationMs | null;
  readonly onAsked: () => void;
  /** A receive brought nothing. */
  readonly onNothing: () => void;
  readonly take: (delivery: Delivery, since: EpochMs) => void;
}

/** How much of a lease an answer may have been under way for. */
const ANSWER_SHARE = 1 / 6;

export function createReceiver(
  ports: {
    readonly clock: Clock;
    readonly random: Random;
    readonly queue: QueueReceiver;
    readonly telemetry: Telemetry;
  },
  options: ReceiverOptions,
): Receiver {
  const { clock, random, queue, telemetry } = ports;
  const { visibilityMs, receivesMax, room, pausedForMs, take } = options;
  const stopping = new AbortController();
  let underWay = 0;
  let failures = 0;
  let pausing = false;
  /** Whether the last receive was full, so that more may be waiting (V2). */
  let plenty = false;
  let onQuiet: (() => void) | null = null;

  function pump(): void {
    while (!stopping.signal.aborted && !pausing) {
      const allowed = plenty ? receivesMax : 1;
      if (underWay >= allowed) return;
      if (room() - underWay * SQS_BATCH_ENTRIES_MAX < SQS_BATCH_ENTRIES_MAX) return; // V1
      const pauseMs = pausedForMs();
      if (pauseMs === null) return;
      if (pauseMs > 0) {
        void pause(pauseMs);
        return;
      }
      underWay += 1;
      void receive();
    }
  }

  async function receive(): Promise<void> {
    const askedAt = clock.now();
    const max = SQS_BATCH_ENTRIES_MAX;
    const waitMs = SQS_RECEIVE_WAIT_MS_MAX;
    options.onAsked();
    telemetry.count(METRICS.sqsRequests.name, 1, { action: "ReceiveMessage" });
    try {
      const deliveries = await queue.receive({ max, waitMs, visibilityMs }, stopping.signal);
      failures = 0;
      plenty = deliveries.length === max;
      const since = epochMs(Math.max(askedAt, clock.now() - visibilityMs * ANSWER_SHARE)); // V5
      for (const delivery of deliveries) take(delivery, since);
      if (deliveries.length === 0) options.onNothing();
    } catch (error) {
      options.onNothing();
      if (!stopping.signal.aborted) failed(error);
    }
    underWay -= 1;
    if (underWay === 0) onQuiet?.();
    pump();
  }

  function failed(error: unknown): void {
    plenty = false;
    failures += 1;
    const delayMs = pollBackoffMs(failures, random.fraction());
    const reason = error instanceof Error ? error.message : String(error);
    const fields = { queue: queue.name, failures, delay_ms: delayMs, reason };
    telemetry.log("warn", "the queue could not be asked", fields);
    void pause(delayMs); // V3
  }

  async function pause(delayMs: DurationMs): Promise<void> {
    if (pausing) return;
    pausing = true;
    await clock.sleep(delayMs, stopping.signal).catch(() => undefined);
    pausing = false;
    pump();
  }

  return {
    start: pump,
    wake: pump,
    async stop() {
      stopping.abort(new Error("the consumer stops"));
      if (underWay > 0) {
        await new Promise<void>((resolve) => {
          onQuiet = resolve;
        });
      }
    },
  };
}
