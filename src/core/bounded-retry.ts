// Bounded retry: repeats an attempt until it succeeds or its tries are used up.
//   R1. The attempt runs at least once and at most `triesMax` times.
//   R2. The helper pauses between two tries, never after the last. Without `pause` it retries
//       immediately.
//   R3. Only the result "retry" asks for another try. An error that the attempt throws ends the
//       retries and reaches the caller.

import { assert } from "./assert.ts";
import { type DurationMs, durationMs } from "./units.ts";

export interface RetryBounds {
  readonly triesMax: number;
  readonly pause?: RetryPause;
}

export interface RetryPause {
  /** How long to wait after `failures` failed tries. */
  readonly delayMs: (failures: number) => DurationMs;
  readonly sleep: (span: DurationMs) => Promise<void>;
}

/** The result of one try. */
export type Tried<T, R> =
  | { readonly kind: "done"; readonly value: T }
  | { readonly kind: "retry"; readonly reason: R };

/** Returns the first "done", or the "retry" of the last try. `nth` is 1 for the first try. */
export async function retryBounded<T, R>(
  bounds: RetryBounds,
  attempt: (nth: number) => Promise<Tried<T, R>>,
): Promise<Tried<T, R>> {
  const { triesMax, pause } = bounds;
  assert(Number.isSafeInteger(triesMax) && triesMax >= 1, "a retry has at least one try"); // R1
  for (let nth = 1; ; nth += 1) {
    const tried = await attempt(nth);
    if (tried.kind === "done" || nth === triesMax) return tried;
    if (pause !== undefined) await pause.sleep(pause.delayMs(nth)); // R2
  }
}

/** Repeats `work` while it throws an error that `isTransient` accepts; throws the last error. */
export async function retryErrors<T>(
  bounds: RetryBounds,
  isTransient: (error: unknown) => boolean,
  work: () => Promise<T>,
): Promise<T> {
  const tried = await retryBounded<T, unknown>(bounds, async () => {
    try {
      return { kind: "done", value: await work() };
    } catch (error) {
      if (!isTransient(error)) throw error; // R3
      return { kind: "retry", reason: error };
    }
  });
  if (tried.kind === "retry") throw tried.reason;
  return tried.value;
}

/** A delay that grows by `stepMs` with every failed try. */
export function linearBackoff(stepMs: DurationMs): RetryPause["delayMs"] {
  return (failures) => durationMs(stepMs * failures);
}
