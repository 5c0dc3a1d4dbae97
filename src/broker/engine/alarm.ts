// Alarm: one timer for everything that happens without a request. Ringing early is harmless: the
// engine finds nothing due and sets it again. So an alarm that is already set for an earlier time
// stays as it is; long polls come and go thousands of times a second.

import { durationMs, type EpochMs } from "../../core/units.ts";
import type { Clock } from "../../ports/clock.ts";

/** Shared: creating an error for each alarm would cost more than the alarm itself. */
const CANCELLED = new Error("the alarm was cleared");

export class Alarm {
  readonly #clock: Clock;
  readonly #ring: () => void;
  #setFor = Number.POSITIVE_INFINITY;
  #cancel: AbortController | null = null;

  constructor(clock: Clock, ring: () => void) {
    this.#clock = clock;
    this.#ring = ring;
  }

  /** Rings at `at` or earlier. */
  setFor(at: EpochMs, now: EpochMs): void {
    if (this.#setFor <= at) return;
    this.clear();
    const cancel = new AbortController();
    this.#cancel = cancel;
    this.#setFor = at;
    this.#clock.sleep(durationMs(Math.max(0, at - now)), cancel.signal).then(
      () => {
        if (this.#cancel !== cancel) return; // Cleared or set again in the instant it woke up.
        this.#setFor = Number.POSITIVE_INFINITY;
        this.#cancel = null;
        this.#ring();
      },
      () => {}, // Cancelled.
    );
  }

  clear(): void {
    this.#cancel?.abort(CANCELLED);
    this.#cancel = null;
    this.#setFor = Number.POSITIVE_INFINITY;
  }
}
