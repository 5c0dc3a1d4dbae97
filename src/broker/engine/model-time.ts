// ModelTime: the instant a step happens at.
//   T1. It never goes back. When the machine's clock is set back, it goes on at the pace of the
//       monotonic clock, so that no timeout stands still for the hour that was taken away.
//   T2. When the machine's clock leaps forward, for instance after a sleep, it follows.
//   T3. Not even a restart takes it back: it goes on from the latest instant the store knows of.
//       Else what was received before the clock was set back would stay hidden for that much more.
//   T4. The machine's clock is read before the monotonic one. Were we held up between the two the
//       other way round, that pause would count twice, and we would be ahead of the machine by it
//       for good; this way round we are behind for one step, and catch up by T2.

import { type EpochMs, epochMs } from "../../core/units.ts";
import type { Clock } from "../../ports/clock.ts";

export class ModelTime {
  readonly #clock: Clock;
  #lastNow: number;
  #lastMonotonic: number;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#lastNow = clock.now();
    this.#lastMonotonic = clock.monotonic();
  }

  /** Something happened at `instant`; from here on it is not earlier than that (T3). */
  goOnFrom(instant: EpochMs): void {
    this.#lastNow = Math.max(this.#lastNow, instant);
  }

  now(): EpochMs {
    const wall = this.#clock.now(); // T4
    const monotonic = this.#clock.monotonic();
    const carriedOn = this.#lastNow + Math.max(0, monotonic - this.#lastMonotonic); // T1
    this.#lastMonotonic = monotonic;
    this.#lastNow = Math.max(carriedOn, wall); // T2
    return epochMs(Math.floor(this.#lastNow));
  }
}
