// A clock that stands still until it is told to move.

import type { DurationMs, EpochMs } from "../../src/core/units.ts";
import { addMs, durationMs } from "../../src/core/units.ts";
import type { Clock } from "../../src/ports/clock.ts";

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
