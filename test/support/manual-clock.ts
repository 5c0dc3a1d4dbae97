// Manual clock: stands still until a test moves it. All tests use this one.

import { addMs, type DurationMs, durationMs, type EpochMs, epochMs } from "../../src/core/units.ts";
import type { Clock } from "../../src/ports/clock.ts";

/**
 * Start time for clocks of ledgers: decades ahead of the system clock. DynamoDB's time to live
 * follows the system clock, and would otherwise delete expired rows during a test.
 */
export const FAR_AHEAD = epochMs(4_000_000_000_000);

const START = epochMs(1_700_000_000_000);

interface Sleeper {
  readonly at: number;
  readonly wake: () => void;
}

export class ManualClock implements Clock {
  #wall: EpochMs;
  #monotonic = durationMs(0);
  /** Whether its leaps are believed. A clock of the operating system's kind is not virtual. */
  readonly virtual: boolean;
  readonly #sleepAdvances: boolean;
  readonly #sleepers = new Set<Sleeper>();
  readonly #onSleep: (() => void)[] = [];

  constructor(
    wall: number = START,
    options: { readonly sleepAdvances?: boolean; readonly virtual?: boolean } = {},
  ) {
    this.#wall = epochMs(wall);
    this.virtual = options.virtual ?? false;
    this.#sleepAdvances = options.sleepAdvances ?? false;
  }

  /** The number of pending sleeps; an idle broker should have no needless ones. */
  get sleepers(): number {
    return this.#sleepers.size;
  }

  /** How long until the next sleeper is due; null if none sleeps. */
  nextWakeIn(): number | null {
    const instants = [...this.#sleepers].map(({ at }) => at);
    return instants.length === 0 ? null : Math.min(...instants) - this.#monotonic;
  }

  // Arrow functions: tests pass single methods around and spread the clock to change one.
  readonly now = (): EpochMs => this.#wall;

  readonly monotonic = (): DurationMs => this.#monotonic;

  readonly sleep = (span: DurationMs, signal?: AbortSignal): Promise<void> => {
    if (this.#sleepAdvances) {
      this.advance(span);
      return Promise.resolve();
    }
    return new Promise((resolve, reject) => {
      const sleeper = { at: this.#monotonic + span, wake: resolve };
      this.#sleepers.add(sleeper);
      for (const resolve of this.#onSleep.splice(0)) resolve();
      signal?.addEventListener("abort", () => {
        this.#sleepers.delete(sleeper);
        reject(signal.reason);
      });
    });
  };

  /** Resolves when something sleeps: at once, or when what a test woke has done its work. */
  async untilAsleep(): Promise<void> {
    if (this.#sleepers.size === 0)
      await new Promise<void>((resolve) => this.#onSleep.push(resolve));
  }

  /** Moves time forward and wakes every sleeper that is due, in order. */
  readonly advance = (spanMs: number): void => {
    const span = durationMs(spanMs);
    this.#wall = addMs(this.#wall, span);
    this.#monotonic = durationMs(this.#monotonic + span);
    const due = [...this.#sleepers].filter(({ at }) => at <= this.#monotonic);
    for (const sleeper of due.sort((a, b) => a.at - b.at)) {
      this.#sleepers.delete(sleeper);
      sleeper.wake();
    }
  };

  /** Sets the wall clock; the monotonic clock does not change. */
  setWall(wall: number): void {
    this.#wall = epochMs(wall);
  }
}

/** A virtual clock for code that sleeps by itself: a sleep moves the clock and returns. */
export function createManualClock(start: EpochMs): ManualClock {
  return new ManualClock(start, { sleepAdvances: true, virtual: true });
}
