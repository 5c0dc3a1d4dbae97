// Refresher: a value that is expensive to compute, kept for a while, so that looking at it often
// costs little.
//   R1. A value is computed at most every `minMs`, and at most `share` of the time is spent on it:
//       one that took long is kept accordingly longer.
//   R2. A caller waits for the first value, for FIRST_WAIT_MS at most. Later ones come at once, and
//       are as old as R1 allows; a value that is fast to compute is always fresh.
//   R3. A failure keeps the previous value. The first failure is thrown to the caller.

import { durationMs } from "../../core/units.ts";
import type { Clock } from "../../ports/clock.ts";

export interface Refresher<T> {
  /** The value; null if it takes longer than FIRST_WAIT_MS (R2). */
  value(): Promise<T | null>;
  /** The value as it is, without computing anything. */
  peek(): T | null;
}

const SHARE = 0.2;
const FIRST_WAIT_MS = 400;
const FAST_MS = 150;

export function createRefresher<T>(
  clock: Clock,
  compute: () => Promise<T>,
  minMs = 1_000,
  share = SHARE,
): Refresher<T> {
  let last: { readonly value: T; readonly at: number; readonly tookMs: number } | null = null;
  let running: Promise<T> | null = null;

  async function run(): Promise<T> {
    const startedAt = clock.monotonic();
    const value = await compute();
    const at = clock.monotonic();
    last = { value, at, tookMs: at - startedAt };
    return value;
  }

  function isStale(): boolean {
    if (last === null) return true;
    return clock.monotonic() - last.at >= Math.max(minMs, last.tookMs / share); // R1
  }

  return {
    peek: () => last?.value ?? null,
    async value() {
      if (running === null && isStale()) {
        const started = run();
        running = started;
        const end = () => {
          running = null;
        };
        started.then(end, end);
      }
      if (running === null) return last?.value ?? null;
      if (last !== null && last.tookMs > FAST_MS) return last.value; // R2
      const giveUp = new AbortController();
      const waitMs = durationMs(last === null ? FIRST_WAIT_MS : FAST_MS);
      const late = clock.sleep(waitMs, giveUp.signal).then(
        () => null,
        () => null,
      );
      try {
        return (await Promise.race([running, late])) ?? last?.value ?? null;
      } catch (error) {
        if (last === null) throw error; // R3
        return last.value;
      } finally {
        giveUp.abort();
      }
    },
  };
}
