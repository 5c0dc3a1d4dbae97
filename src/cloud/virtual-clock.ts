// Virtual clock: time only moves when a caller advances it.
//   C1. Time moves from one sleeper's due time to the next, in order; every sleeper wakes exactly
//       on time.
//   C2. Before and after each move, the clock waits until all work is done, so that the work of
//       a sleeper happens at its due time.
//   C3. Moves run one after another and do not overlap.
//   C4. Time ends with the year 9999, because later timestamps cannot be written in common formats.
//   C5. Time stands still while work that was passed to `waitFor` runs.

import { refuseValue } from "../core/errors.ts";
import { durationMs, type EpochMs, epochMs } from "../core/units.ts";
import type { Clock } from "../ports/clock.ts";

const INSTANT_MS_MAX = Date.UTC(9_999, 11, 31, 23, 59, 59, 999);

/** A clock that a test moves. Timeouts and delays pass without waiting. */
export interface VirtualClock extends Clock {
  /** Advances time by `ms`; resolves after all work that became due has finished. */
  advance(ms: number): Promise<void>;
  /** Keeps `advance` from moving time until `work` has ended (C5). */
  waitFor(work: Promise<unknown>): void;
}

export interface VirtualClockOptions {
  readonly startAt: EpochMs;
  /** Resolves when no work is in progress. */
  readonly idle: () => Promise<void>;
}

interface Sleeper {
  readonly dueAt: number;
  wake(): void;
}

export function createVirtualClock(options: VirtualClockOptions): VirtualClock {
  const sleepers = new Set<Sleeper>();
  let now: number = options.startAt;
  let moves: Promise<void> = Promise.resolve();
  const running = new Set<Promise<unknown>>();

  const idle = async () => {
    await options.idle();
    while (running.size > 0) {
      await Promise.all(running); // C5
      await options.idle();
    }
  };

  const move = async (ms: number) => {
    await idle(); // C2
    const target = now + ms;
    if (target > INSTANT_MS_MAX) refuseValue("cannot advance past the year 9999"); // C4
    for (;;) {
      const next = earliest(sleepers);
      if (next === null || next.dueAt > target) break;
      now = Math.max(now, next.dueAt); // C1
      sleepers.delete(next);
      next.wake();
      await idle();
    }
    now = target;
    await idle();
  };

  return {
    virtual: true,
    now: () => epochMs(now),
    monotonic: () => durationMs(now - options.startAt),
    sleep: (span, signal) => sleepUntil(sleepers, now + Math.max(0, span), signal),
    waitFor(work) {
      const ended = work.then(
        () => void running.delete(ended),
        () => void running.delete(ended),
      );
      running.add(ended);
    },
    async advance(ms) {
      if (!Number.isSafeInteger(ms) || ms < 0) {
        refuseValue(`cannot advance by ${ms}; expected a non-negative integer of milliseconds`);
      }
      const current = moves.then(() => move(ms)); // C3
      moves = current.catch(() => {}); // The caller gets the error; the next move runs.
      await current;
    },
  };
}

/** Among sleepers due at the same time, the first one added: sets keep insertion order. */
function earliest(sleepers: ReadonlySet<Sleeper>): Sleeper | null {
  let first: Sleeper | null = null;
  for (const sleeper of sleepers) {
    if (first === null || sleeper.dueAt < first.dueAt) first = sleeper;
  }
  return first;
}

function sleepUntil(
  sleepers: Set<Sleeper>,
  dueAt: number,
  signal: AbortSignal | undefined,
): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) {
      reject(signal.reason);
      return;
    }
    const abort = () => {
      sleepers.delete(sleeper);
      reject(signal?.reason);
    };
    const sleeper: Sleeper = {
      dueAt,
      wake() {
        signal?.removeEventListener("abort", abort);
        resolve();
      },
    };
    sleepers.add(sleeper);
    signal?.addEventListener("abort", abort, { once: true });
  });
}
