// Queue clock: what the clock of a queue shows, as far as deliveries tell, which it dates.
//   K1. It never shows more than the queue's does: a message was received after it was sent, so our
//       clock is ahead by no more than the quickest delivery seemed to take.
//   K2. Where all were slow, ours is taken to be ahead by CLOCKS_APART_MS_MAX at most.

import { type DurationMs, type EpochMs, epochMs, minutes } from "../core/units.ts";
import type { Delivery } from "../ports/queue-receiver.ts";

/** With clocks further apart, AWS refuses signed requests. */
export const CLOCKS_APART_MS_MAX: DurationMs = minutes(5);

export interface QueueClock {
  saw(hold: { readonly delivery: Delivery; readonly receivedAt: EpochMs }): void;
  /** What it shows at least when ours shows `now`. */
  atLeast(now: EpochMs): EpochMs;
}

export function createQueueClock(): QueueClock {
  let aheadMsMax: number = CLOCKS_APART_MS_MAX; // K2
  return {
    saw({ delivery, receivedAt }) {
      aheadMsMax = Math.min(aheadMsMax, receivedAt - delivery.sentAt); // K1
    },
    atLeast: (now) => epochMs(now - aheadMsMax),
  };
}
