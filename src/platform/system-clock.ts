// The operating system's clock.

import { type DurationMs, durationMs, epochMs } from "../core/units.ts";
import type { Clock } from "../ports/clock.ts";

/** The maximum of one timer; longer sleeps use several. */
const TIMER_MS_MAX = 2 ** 31 - 1;

export const systemClock: Clock = {
  now: () => epochMs(Date.now()),
  monotonic: () => durationMs(Math.floor(performance.now())),
  sleep,
};

async function sleep(span: DurationMs, signal?: AbortSignal): Promise<void> {
  for (let remaining: number = span; ; remaining -= TIMER_MS_MAX) {
    await wait(Math.min(remaining, TIMER_MS_MAX), signal);
    if (remaining <= TIMER_MS_MAX) return;
  }
}

function wait(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) {
      reject(signal.reason);
      return;
    }
    const abort = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", abort);
      resolve();
    }, ms);
    signal?.addEventListener("abort", abort, { once: true });
  });
}
