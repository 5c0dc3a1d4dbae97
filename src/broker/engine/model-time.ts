// ModelTime: the instant a step happens at.
//   T1. It never goes back. When the machine's clock is set back, it goes on at the pace of the
//       monotonic clock, so that no timeout stands still for the hour that was taken away.
//   T2. When the machine's clock leaps forward, for instance after a sleep, it follows.
//   T3. Not even a restart takes it back: it goes on from the latest instant the store knows of.
//       Else what was received before the clock was set back would stay hidden for that much more.

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
    const monotonic = this.#clock.monotonic();
    const carriedOn = this.#lastNow + Math.max(0, monotonic - this.#lastMonotonic); // T1
    this.#lastMonotonic = monotonic;
    this.#lastNow = Math.max(carriedOn, this.#clock.now()); // T2
    return epochMs(Math.floor(this.#lastNow));
  }
}
