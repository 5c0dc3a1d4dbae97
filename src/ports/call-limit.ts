// CallLimit: ends a synchronous call that takes too long.
//   C1. Promises and timers cannot do this: while synchronous code runs, nothing else does.
//   C2. A limit costs some hundred microseconds per call, so it is for calls that are suspect.

import type { DurationMs } from "../core/units.ts";

export interface CallLimit {
  /** The result of `work`, or "too-long" if it had to be ended; rethrows what `work` throws. */
  run<T>(limitMs: DurationMs, work: () => T): T | "too-long";
}
