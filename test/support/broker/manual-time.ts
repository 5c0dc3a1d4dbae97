// Manual time: one manual clock with a view for each broker, and turns as microtasks.
//   P1. A sleeper wakes only inside `stepTo`, at exactly its own instant.
//   P2. Each broker has its own view of the clock; a view that was cut off wakes no sleeper.

import type { EpochMs } from "../../../src/core/units.ts";
import type { Clock } from "../../../src/ports/clock.ts";
import type { Turn } from "../../../src/ports/turn.ts";
import { ManualClock } from "../manual-clock.ts";

/** 2025-01-01, with an odd millisecond so that whole seconds are never taken for granted. */
const START_MS = 1_735_689_600_123;

export class ManualTime {
  readonly #clock = new ManualClock(START_MS);
  readonly #views = new Map<Clock, AbortController>();

  now(): EpochMs {
    return this.#clock.now();
  }

  /** A clock for one broker. */
  view(): Clock {
    const end = new AbortController();
    const view: Clock = {
      now: this.#clock.now,
      monotonic: this.#clock.monotonic,
      sleep: (span, signal) => {
        if (signal?.aborted) return Promise.reject(signal.reason);
        const either = signal === undefined ? end.signal : AbortSignal.any([signal, end.signal]);
        const slept = this.#clock.sleep(span, either);
        return slept.catch((error: unknown) => (end.signal.aborted ? forever() : reject(error)));
      },
    };
    this.#views.set(view, end);
    return view;
  }

  /** No sleeper of this view wakes any more. */
  cutOff(view: Clock): void {
    this.#views.get(view)?.abort(); // P2
  }

  /** The next instant at which a sleeper wakes. */
  nextWake(): number | null {
    const next = this.#clock.nextWakeIn();
    return next === null ? null : this.#clock.now() + next;
  }

  /** Sets the time, never backwards, and wakes sleepers that are due. */
  stepTo(instant: number): void {
    this.#clock.advance(Math.max(0, instant - this.#clock.now())); // P1
  }
}

function forever(): Promise<never> {
  return new Promise(() => {});
}

function reject(error: unknown): never {
  throw error;
}

export const microtaskTurn: Turn = { afterTurn: (work) => queueMicrotask(work) };

/** Runs everything that can run without time passing. */
export function drain(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
