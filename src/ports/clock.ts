// Clock: the only source of time.

import type { DurationMs, EpochMs } from "../core/units.ts";

export interface Clock {
  /** Wall time. May jump when the system clock is set. */
  now(): EpochMs;
  /** Never goes back; only differences mean anything. */
  monotonic(): DurationMs;
  /** Resolves after `span`, or rejects with the signal's reason as soon as it aborts. */
  sleep(span: DurationMs, signal?: AbortSignal): Promise<void>;
}
