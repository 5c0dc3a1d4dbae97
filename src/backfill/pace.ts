// Pace: starts at most so many objects per second.
//   P1. Time that was lost to slow work is made up for; the time of a pause is not.

import { type DurationMs, durationMs, type EpochMs, hours } from "../core/units.ts";
import type { Clock } from "../ports/clock.ts";

export class Pace {
  readonly #clock: Clock;
  readonly #startedAt: EpochMs;
  /** Per second; null starts everything at once. */
  readonly #rate: number | null;
  #pausedMs = 0;
  #sent = 0;

  constructor(clock: Clock, startedAt: EpochMs, rate: number | null) {
    this.#clock = clock;
    this.#startedAt = startedAt;
    this.#rate = rate;
  }

  /** Time since the start, without pauses. */
  get tookMs(): DurationMs {
    return durationMs(Math.max(this.#clock.now() - this.#startedAt - this.#pausedMs, 0));
  }

  /** Waits until the rate allows that many more objects. */
  async wait(count: number, signal: AbortSignal): Promise<void> {
    if (this.#rate === null || count === 0) return;
    const dueMs = (this.#sent / this.#rate) * 1_000;
    const waitMs = Math.ceil(dueMs - this.tookMs);
    this.#sent += count;
    if (waitMs > 0) await this.#clock.sleep(durationMs(Math.min(waitMs, hours(1))), signal);
  }

  /** Runs `wait`, whose time does not count (P1). */
  async pause<T>(wait: () => Promise<T>): Promise<T> {
    const since = this.#clock.now();
    const result = await wait();
    this.#pausedMs += this.#clock.now() - since;
    return result;
  }
}
