// Manual ports: a clock that moves only on request, seeded random, turns as microtasks.
//   P1. A sleeper wakes only inside `stepTo`, at exactly its own instant.
//   P2. Each broker has its own face of the clock; a face that was cut off wakes no sleeper.

import { type DurationMs, durationMs, type EpochMs, epochMs } from "../../../src/core/units.ts";
import type { Clock } from "../../../src/ports/clock.ts";
import type { Random } from "../../../src/ports/random.ts";
import type { Turn } from "../../../src/ports/turn.ts";

interface Sleeper {
  readonly face: object;
  readonly at: number;
  readonly wake: () => void;
}

/** 2025-01-01, with an odd millisecond so that whole seconds are never taken for granted. */
const START_MS = 1_735_689_600_123;

export class ManualTime {
  #now = START_MS;
  #sleepers: Sleeper[] = [];

  now(): EpochMs {
    return epochMs(this.#now);
  }

  /** A clock for one broker. */
  face(): Clock {
    const face: Clock = {
      now: () => this.now(),
      monotonic: () => durationMs(this.#now - START_MS),
      sleep: (span, signal) => this.#sleep(face, span, signal),
    };
    return face;
  }

  /** No sleeper of this face wakes any more. */
  cutOff(face: Clock): void {
    this.#sleepers = this.#sleepers.filter((sleeper) => sleeper.face !== face); // P2
  }

  /** The next instant at which somebody wants to wake. */
  nextWake(): number | null {
    const instants = this.#sleepers.map((sleeper) => sleeper.at);
    return instants.length === 0 ? null : Math.min(...instants);
  }

  /** Sets the time, never backwards, and wakes sleepers that are due. */
  stepTo(instant: number): void {
    this.#now = Math.max(this.#now, instant);
    const due = this.#sleepers.filter((sleeper) => sleeper.at <= this.#now); // P1
    this.#sleepers = this.#sleepers.filter((sleeper) => sleeper.at > this.#now);
    for (const sleeper of due.toSorted((a, b) => a.at - b.at)) sleeper.wake();
  }

  #sleep(face: Clock, span: DurationMs, signal: AbortSignal | undefined): Promise<void> {
    if (signal?.aborted) return Promise.reject(signal.reason);
    return new Promise((resolve, reject) => {
      const sleeper = { face, at: this.#now + Math.max(0, span), wake: resolve };
      this.#sleepers.push(sleeper);
      signal?.addEventListener("abort", () => {
        this.#sleepers = this.#sleepers.filter((other) => other !== sleeper);
        reject(signal.reason);
      });
    });
  }
}

export const microtaskTurn: Turn = { afterTurn: (work) => queueMicrotask(work) };

/** Small and seeded (mulberry32); nothing but the tests may rely on it. */
export function createSeededRandom(seed: number): Random {
  let state = seed >>> 0;
  const fraction = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
  const below = (limit: number) => Math.floor(fraction() * limit);
  const bytes = (count: number) => Uint8Array.from({ length: count }, () => below(256));
  return {
    fraction,
    below,
    bytes,
    uuid: () => {
      const hex = Buffer.from(bytes(16)).toString("hex");
      const third = `4${hex.slice(13, 16)}`;
      const fourth = `${"89ab"[below(4)]}${hex.slice(17, 20)}`;
      return [hex.slice(0, 8), hex.slice(8, 12), third, fourth, hex.slice(20)].join("-");
    },
    fork: (name) => {
      let hash = state;
      for (const char of name) hash = Math.imul(hash ^ char.charCodeAt(0), 0x01000193);
      return createSeededRandom(hash);
    },
  };
}

/** Runs everything that can run without time passing. */
export function drain(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
