// Queue clock: estimates the time on the queue's clock from the timestamps of its deliveries.
//   K1. The estimate is never ahead of the queue's clock: a message is received after it was sent,
//       and the same time has passed here and there since.
//   K2. Time is counted by the monotonic clock, so that setting the wall clock forward does not put
//       the estimate ahead. Only the time that a delivery was in flight is by the wall clock.
//   K3. Before the first delivery, our clock is assumed to be ahead by at most CLOCKS_APART_MS_MAX.

import { type DurationMs, type EpochMs, epochMs, minutes } from "../../core/units.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Delivery } from "../../ports/queue-receiver.ts";

/** With clocks further apart, AWS refuses signed requests. */
export const CLOCKS_APART_MS_MAX: DurationMs = minutes(5);

export interface QueueClock {
  saw(inFlight: { readonly delivery: Delivery; readonly receivedAt: EpochMs }): void;
  /** A lower bound of the queue's time. */
  now(): EpochMs;
}

export function createQueueClock(clock: Pick<Clock, "now" | "monotonic">): QueueClock {
  /** The queue's time when the monotonic clock was 0; null before the first delivery. */
  let origin: number | null = null;
  return {
    saw({ delivery, receivedAt }) {
      const inFlightMs = Math.max(0, clock.now() - receivedAt);
      const observed = delivery.sentAt + inFlightMs - clock.monotonic(); // K1, K2
      origin = Math.max(origin ?? observed, observed);
    },
    now() {
      if (origin === null) return epochMs(clock.now() - CLOCKS_APART_MS_MAX); // K3
      return epochMs(Math.floor(origin + clock.monotonic()));
    },
  };
}
