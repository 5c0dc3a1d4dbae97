// Clock: the only source of time.

import type { DurationMs, EpochMs } from "../core/units.ts";

/** Time. Pass your own to control it in a test. */
export interface Clock {
  /**
   * True if time moves on purpose, as in tests: every leap of it is believed, and no database
   * server's clock replaces it. Default: false, the operating system's clock, which may be wrong.
   */
  readonly virtual?: boolean;
  /** Wall time. May jump when the system clock is set. */
  now(): EpochMs;
  /** Never goes back; only differences mean anything. */
  monotonic(): DurationMs;
  /** Resolves after `span`, or rejects with the signal's reason as soon as it aborts. */
  sleep(span: DurationMs, signal?: AbortSignal): Promise<void>;
}
