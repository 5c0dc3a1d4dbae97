// A clock that stands still until it is told to move.

import type { DurationMs, EpochMs } from "../../src/core/units.ts";
import { addMs, durationMs, epochMs } from "../../src/core/units.ts";
import type { Clock } from "../../src/ports/clock.ts";

/**
 * Where such clocks start when a ledger hangs on them: decades ahead of the machine's clock, by
 * which DynamoDB's time to live deletes what has expired, be it under a running test.
 */
export const FAR_AHEAD = epochMs(4_000_000_000_000);

export interface ManualClock extends Clock {
  advance(span: DurationMs): void;
}

export function createManualClock(start: EpochMs): ManualClock {
  let now = start;
  return {
    now: () => now,
    monotonic: () => durationMs(now - start),
    sleep: async (span) => {
      now = addMs(now, span);
    },
    advance(span) {
      now = addMs(now, span);
    },
  };
}
