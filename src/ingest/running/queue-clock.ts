// Queue clock: what the clock of a queue shows, as far as deliveries tell, which it dates.
//   K1. It never shows more than the queue's does: a message was received after it was sent, and
//       since then as much time has passed there as here.
//   K2. Time is counted by the monotonic clock, so that a machine whose clock is set forward does
//       not run ahead of the queue; only what passed while a delivery was in hand is not.
//   K3. Before the first delivery, ours is taken to be ahead by CLOCKS_APART_MS_MAX at most.

import { type DurationMs, type EpochMs, epochMs, minutes } from "../../core/units.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Delivery } from "../../ports/queue-receiver.ts";

/** With clocks further apart, AWS refuses signed requests. */
export const CLOCKS_APART_MS_MAX: DurationMs = minutes(5);

export interface QueueClock {
  saw(inFlight: { readonly delivery: Delivery; readonly receivedAt: EpochMs }): void;
  /** What it shows at least. */
  now(): EpochMs;
}

export function createQueueClock(clock: Pick<Clock, "now" | "monotonic">): QueueClock {
  /** What it showed when the monotonic clock stood at 0; null before the first delivery. */
  let origin: number | null = null;
  return {
    saw({ delivery, receivedAt }) {
      const inHandMs = Math.max(0, clock.now() - receivedAt);
      const told = delivery.sentAt + inHandMs - clock.monotonic(); // K1, K2
      origin = Math.max(origin ?? told, told);
    },
    now() {
      if (origin === null) return epochMs(clock.now() - CLOCKS_APART_MS_MAX); // K3
      return epochMs(Math.floor(origin + clock.monotonic()));
    },
  };
}
