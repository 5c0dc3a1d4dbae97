// A clock that stands still until a test moves it.

import { type DurationMs, durationMs, type EpochMs, epochMs } from "../../src/core/units.ts";
import type { Clock } from "../../src/ports/clock.ts";

interface Sleeper {
  readonly at: number;
  readonly wake: () => void;
}

export class ManualClock implements Clock {
  #wall: number;
  #monotonic = 0;
  readonly #sleepers = new Set<Sleeper>();

  constructor(wall = 1_700_000_000_000) {
    this.#wall = wall;
  }

  /** How many sleep; an idle broker should not wake up for nothing. */
  get sleepers(): number {
    return this.#sleepers.size;
  }

  now(): EpochMs {
    return epochMs(this.#wall);
  }

  monotonic(): DurationMs {
    return durationMs(this.#monotonic);
  }

  sleep(span: DurationMs, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const sleeper = { at: this.#monotonic + span, wake: resolve };
      this.#sleepers.add(sleeper);
      signal?.addEventListener("abort", () => {
        this.#sleepers.delete(sleeper);
        reject(signal.reason);
      });
    });
  }

  /** Lets time pass and wakes whoever slept until then. */
  advance(spanMs: number): void {
    this.#wall += spanMs;
    this.#monotonic += spanMs;
    const due = [...this.#sleepers].filter(({ at }) => at <= this.#monotonic);
    for (const sleeper of due.sort((a, b) => a.at - b.at)) {
      this.#sleepers.delete(sleeper);
      sleeper.wake();
    }
  }

  /** Somebody sets the machine's clock; the monotonic one does not notice. */
  setWall(wall: number): void {
    this.#wall = wall;
  }
}
