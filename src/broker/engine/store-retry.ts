// Store retry: when a failed store may be tried again.
//   T1. However many requests arrive, there is a short pause after a failure. Without requests the
//       pauses double, because each attempt reads the whole store.

import { type DurationMs, durationMs } from "../../core/units.ts";

/** The shortest pause. */
const STORE_RETRY_MS = 250;
const STORE_RETRY_MS_MAX = 8_000;

export class StoreRetry {
  readonly #monotonic: () => number;
  #failedAt = Number.NEGATIVE_INFINITY;
  #pauseMs = STORE_RETRY_MS;

  constructor(clock: { monotonic(): number }) {
    this.#monotonic = () => clock.monotonic();
  }

  /** Until the next attempt. */
  get pauseMs(): DurationMs {
    return durationMs(this.#pauseMs);
  }

  noteFailure(): void {
    this.#failedAt = this.#monotonic();
    this.#pauseMs = Math.min(this.#pauseMs * 2, STORE_RETRY_MS_MAX); // T1
  }

  noteCommit(): void {
    this.#pauseMs = STORE_RETRY_MS;
  }

  /** The store works; what failed was something else. */
  allowNow(): void {
    this.#failedAt = Number.NEGATIVE_INFINITY;
  }

  failedRecently(): boolean {
    return this.#monotonic() - this.#failedAt < STORE_RETRY_MS;
  }
}
