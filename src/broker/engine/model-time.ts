// ModelTime: the instant at which a step happens.
//   T1. It never goes backwards. When the system clock is set back, it continues at the pace of the
//       monotonic clock, so that no timeout stands still for the time that was taken away.
//   T2. When the system clock jumps forward, for instance after a sleep, it follows.
//   T3. A restart does not take it back either: it continues from the latest instant in the store.
//       Otherwise messages received before the clock was set back would stay hidden that much
//       longer.
//   T4. The system clock is read before the monotonic one. A pause between the two reads then
//       leaves us behind for one step, until T2 catches up. In the other order the pause would
//       count twice, and we would stay ahead of the system clock for good.

import { assert } from "../../core/assert.ts";
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

  /** From here on, it is never earlier than `instant` (T3). */
  continueFrom(instant: EpochMs): void {
    this.#lastNow = Math.max(this.#lastNow, instant);
  }

  now(): EpochMs {
    const wall = this.#clock.now(); // T4
    const monotonic = this.#clock.monotonic();
    const continued = this.#lastNow + Math.max(0, monotonic - this.#lastMonotonic); // T1
    this.#lastMonotonic = monotonic;
    assert(continued >= this.#lastNow, "model time never goes backwards (T1)");
    this.#lastNow = Math.max(continued, wall); // T2
    return epochMs(Math.floor(this.#lastNow));
  }
}
