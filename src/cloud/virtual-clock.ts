// Virtual clock: time that stands still until it is told to move.
//   C1. Time moves from one sleeper's instant to the next, in order; nobody wakes late or early.
//   C2. Before each move, and after it, everything that is at work has settled: what a sleeper
//       does at its instant it does at that instant.
//   C3. Moves do not overlap; they happen one after the other.
//   C4. Time ends with the year 9999: what comes later has no timestamp that others could read.
//   C5. Time stands still while work that was passed to `waitFor` runs.

import { TidegateError } from "../core/errors.ts";
import { durationMs, type EpochMs, epochMs } from "../core/units.ts";
import type { Clock } from "../ports/clock.ts";

const INSTANT_MS_MAX = Date.UTC(9_999, 11, 31, 23, 59, 59, 999);

export interface VirtualClock extends Clock {
  /** Moves time on by `ms`; resolves once all that became due has been done. */
  advance(ms: number): Promise<void>;
  /** Keeps `advance` from moving time until `work` has settled (C5). */
  waitFor(work: Promise<unknown>): void;
}

export interface VirtualClockOptions {
  readonly startAt: EpochMs;
  /** Resolves when nothing is at work any more. */
  readonly settled: () => Promise<void>;
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

  const settled = async () => {
    await options.settled();
    while (running.size > 0) {
      await Promise.all(running); // C5
      await options.settled();
    }
  };

  const move = async (ms: number) => {
    await settled(); // C2
    const target = now + ms;
    if (target > INSTANT_MS_MAX) refuse("Time ends with the year 9999."); // C4
    for (;;) {
      const next = earliest(sleepers);
      if (next === null || next.dueAt > target) break;
      now = Math.max(now, next.dueAt); // C1
      sleepers.delete(next);
      next.wake();
      await settled();
    }
    now = target;
    await settled();
  };

  return {
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
        refuse(`Time moves by a whole number of milliseconds, not by ${ms}.`);
      }
      const mine = moves.then(() => move(ms)); // C3
      moves = mine.catch(() => {}); // The caller hears of it; the next move goes on.
      await mine;
    },
  };
}

function refuse(message: string): never {
  throw new TidegateError("TG_VALUE_INVALID", message);
}

/** Of sleepers due together, the one that lay down first: sets keep that order. */
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
