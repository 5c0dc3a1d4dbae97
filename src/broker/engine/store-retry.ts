// Store retry: when a failed store may be tried again.
//   T1. However many requests arrive, there is a short pause after a failure. Without requests the
//       pauses double, because each attempt reads the whole store.
//   T2. The failures up to a successful load are one outage. Its begin is reported, once. A store
//       that works and waits for space (StoreSpace.waitsFor) is in an outage as well.

import { isDiskFull, reasonOf, TidegateError } from "../../core/errors.ts";
import { type DurationMs, durationMs, type EpochMs } from "../../core/units.ts";

/** The shortest pause. */
const STORE_RETRY_MS = 250;
const STORE_RETRY_MS_MAX = 8_000;

/** Why the store serves nothing, or refuses what needs space, and what it waits for. */
export interface StoreOutage {
  readonly since: EpochMs;
  readonly reason: string;
  /** Disk space, if the lack of it is the reason. */
  readonly neededBytes?: number;
  readonly freeBytes?: number;
}

export class StoreRetry {
  readonly #monotonic: () => number;
  #failedAt = Number.NEGATIVE_INFINITY;
  #pauseMs = STORE_RETRY_MS;
  readonly #onError: ((error: unknown) => void) | undefined;
  #outage: StoreOutage | null = null;
  #reported: unknown = null;

  constructor(
    clock: { monotonic(): number },
    onError: ((error: unknown) => void) | undefined = undefined,
  ) {
    this.#monotonic = () => clock.monotonic();
    this.#onError = onError;
  }

  /** Reports an error that no caller gets, or that begins an outage; each one once. */
  report(error: unknown): void {
    if (error !== this.#reported) this.#onError?.(error);
    this.#reported = error;
  }

  /** Rejects requests until the next attempt. */
  recentError(): TidegateError {
    const reason = this.#outage === null ? "" : `: ${this.#outage.reason}`;
    return new TidegateError("TG_STORE_UNAVAILABLE", `the store failed a moment ago${reason}`);
  }

  /** Until the next attempt. */
  get pauseMs(): DurationMs {
    return durationMs(this.#pauseMs);
  }

  /** The failures since the last commit, as one outage. */
  get outage(): StoreOutage | null {
    return this.#outage;
  }

  /** A full disk begins no outage, because much of the store works. */
  noteFailure(error: unknown, now: EpochMs): void {
    const begins = this.#outage === null && !isDiskFull(error);
    if (begins || this.#outage !== null) {
      this.#outage = { since: this.#outage?.since ?? now, ...causeOf(error) };
    }
    this.#failedAt = this.#monotonic();
    this.#pauseMs = Math.min(this.#pauseMs * 2, STORE_RETRY_MS_MAX); // T1
    if (begins) this.report(error);
  }

  /** The store was read and accepts commits; `waitsFor` is the space that it still needs (T2). */
  noteRecovery(waitsFor: unknown, now: EpochMs): void {
    const begins = this.#outage === null && waitsFor !== null;
    const since = this.#outage?.since ?? now;
    this.#outage = waitsFor === null ? null : { since, ...causeOf(waitsFor) };
    if (begins) this.report(waitsFor);
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

function causeOf(error: unknown): Omit<StoreOutage, "since"> {
  const { neededBytes, freeBytes } = {
    ...((error as Error | null)?.cause as object),
    ...(error as object),
  } as Partial<StoreOutage>;
  const needs =
    neededBytes === undefined || freeBytes === undefined ? {} : { neededBytes, freeBytes };
  return { reason: reasonOf(error), ...needs };
}
