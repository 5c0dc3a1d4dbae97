// StoreClock: the time of a store that outlives its processes. A system clock may be wrong, leap or
// be set back; what a store keeps must not depend on it.
//   K1. `now` never goes back. When the system clock is set back, `now` continues at the pace of
//       the monotonic clock, so that no timeout stands still for the time that was taken away.
//   K2. `now` follows the system clock forward, for instance after a sleep of the computer.
//   K3. A restart does not take it back: it continues from the newest instant in the store.
//   K4. A step forward of more than CLOCK_LEAP_MS beyond elapsed steady time is a leap. It may not
//       have happened, so nothing expires by it (RunningTime) until it is confirmed: by
//       `acceptLeaps`, or by CLOCK_WAIT_MS of running while the system clock stays there.
//   K5. If the system clock returns before that, the leap is refuted: it never counts.
//   K6. `expiry` is the newest instant of the store plus the time that passed for certain. It is
//       what a store compares with that keeps instants instead of spans.
//   K7. `wall` is the system clock, but not if it is more than CLOCK_LEAP_MS behind `expiry`: such
//       a clock would write stamps that have expired, and believe no lease of others.
//   K8. The system clock is read before the monotonic one. A pause between the two reads then
//       leaves us behind for one step, until K2 catches up. In the other order the pause would
//       count twice, and we would stay ahead of the system clock for good.
//   K9. A virtual clock moves on purpose: every leap of it is believed.

import { assert } from "./assert.ts";
import { type Leap, RunningTime } from "./running-time.ts";
import { type DurationMs, days, durationMs, type EpochMs, epochMs, hours } from "./units.ts";

/** A larger step of the system clock is a leap (K4). */
export const CLOCK_LEAP_MS: DurationMs = days(1);
/** How long a store runs with a leap until it counts (K4). */
export const CLOCK_WAIT_MS: DurationMs = hours(24);

/** The readings of a clock (ports/clock.ts). */
export interface ClockReadings {
  readonly virtual?: boolean;
  now(): EpochMs;
  monotonic(): DurationMs;
}

/** The instants by which a store decides. */
export interface StoreInstant {
  /** Never earlier than at the reading before (K1). */
  readonly now: EpochMs;
  /** The system clock, for stamps and leases that other processes compare (K7). */
  readonly wall: EpochMs;
  /** What expires at this instant or earlier has expired (K6). */
  readonly expiry: EpochMs;
}

/** A leap that is neither confirmed nor refuted. Nothing expires by it. */
export interface ClockLeap {
  readonly aheadMs: DurationMs;
  /** It counts after this much more running time. */
  readonly remainingMs: DurationMs;
}

/** What a store keeps for the next process. */
export interface ClockMark {
  /** Leaps that do not count, oldest first. */
  readonly leaps: readonly Leap[];
  /** How many of them, from the first, are refuted (K5). */
  readonly refuted: number;
  /** How long the pending leaps have been waiting. */
  readonly waitedMs: DurationMs;
}

export interface StoreClockOptions {
  /** Believes the system clock, however far it leaps. Default: false. */
  readonly acceptLeaps?: boolean | undefined;
}

export class StoreClock {
  readonly time = new RunningTime();
  readonly #clock: ClockReadings;
  readonly #believes: boolean;
  #now: number | null = null;
  #monotonic = 0;
  /** How many of the leaps, from the first, are refuted (K5). */
  #refuted = 0;
  #waitedMs = 0;

  constructor(clock: ClockReadings, { acceptLeaps = false }: StoreClockOptions = {}) {
    this.#clock = clock;
    this.#believes = acceptLeaps || clock.virtual === true; // K9
  }

  /**
   * Continues from the newest instant in the store (K3). Only the first call uses the mark: later
   * the process knows more than the store.
   */
  continueFrom(newest: EpochMs, mark: ClockMark | null = null): void {
    if (this.#now !== null) {
      this.#now = Math.max(this.#now, newest);
      return;
    }
    this.#now = newest;
    this.#monotonic = this.#clock.monotonic();
    if (mark === null) return;
    this.time.set(mark.leaps);
    this.#refuted = mark.refuted;
    this.#waitedMs = mark.waitedMs;
  }

  read(): StoreInstant {
    const system = this.#clock.now(); // K8
    const monotonic = this.#clock.monotonic();
    const elapsedMs = this.#now === null ? 0 : Math.max(0, monotonic - this.#monotonic);
    const steady = (this.#now ?? system) + elapsedMs; // K1
    this.#monotonic = monotonic;
    assert(steady >= (this.#now ?? steady), "the time of a store never goes back (K1)");
    if (system - steady > CLOCK_LEAP_MS && !this.#believes) this.#add(steady, system);
    else if (this.#pending > 0) this.#judge(system - steady, elapsedMs);
    else this.#waitedMs = 0;
    this.#now = Math.max(steady, system); // K2
    return this.#instant(system);
  }

  /** The pending leaps, if the system clock is still where they led. */
  leap(): ClockLeap | null {
    if (this.#pending === 0) return null;
    const pending = this.time.leaps.slice(this.#refuted);
    return {
      aheadMs: durationMs(pending.reduce((sum, { from, to }) => sum + to - from, 0)),
      remainingMs: durationMs(Math.max(0, CLOCK_WAIT_MS - this.#waitedMs)),
    };
  }

  /** What the next process must know; null if that is the newest instant alone. */
  mark(): ClockMark | null {
    const { leaps } = this.time;
    if (leaps.length === 0) return null;
    return { leaps, refuted: this.#refuted, waitedMs: durationMs(Math.floor(this.#waitedMs)) };
  }

  /** Another process of the store is certain of `instant`: if that is where the leaps led, they count. */
  learn(instant: EpochMs): void {
    const { aheadMs } = this.leap() ?? { aheadMs: 0 };
    const certain = (this.#now ?? instant) - this.time.missingMs;
    if (aheadMs === 0 || instant - certain <= CLOCK_LEAP_MS) return;
    if (instant - certain - aheadMs <= CLOCK_LEAP_MS) this.#confirm();
  }

  /** Starts the wait over: the clock of another process contradicts the leap. */
  restartWait(): void {
    this.#waitedMs = 0;
  }

  get #pending(): number {
    return this.time.leaps.length - this.#refuted;
  }

  /** K4 */
  #add(from: number, to: number): void {
    // The first leap of a process may be the one that an earlier process waited for.
    if (this.#pending > 0) this.#waitedMs = 0;
    const count = this.time.leaps.length;
    this.time.add({ from, to });
    const merged = this.time.leaps.length === count; // R4 of running-time.ts
    if (merged && this.#refuted > 1) this.#refuted -= 1;
  }

  /** Confirms or refutes the pending leaps; `aheadMs` is how far the system clock is ahead. */
  #judge(aheadMs: number, elapsedMs: number): void {
    if (aheadMs < -CLOCK_LEAP_MS) {
      this.#refuted = this.time.leaps.length; // K5
      this.#waitedMs = 0;
      return;
    }
    this.#waitedMs += elapsedMs;
    if (!this.#believes && this.#waitedMs < CLOCK_WAIT_MS) return;
    this.#confirm();
  }

  /** K4 */
  #confirm(): void {
    this.time.set(this.time.leaps.slice(0, this.#refuted));
    this.#waitedMs = 0;
  }

  #instant(system: EpochMs): StoreInstant {
    const now = Math.floor(this.#now ?? system);
    const certain = now - this.time.missingMs;
    const wall = system < certain - CLOCK_LEAP_MS ? certain : system; // K7
    return {
      now: epochMs(now),
      wall: epochMs(Math.floor(wall)),
      expiry: epochMs(Math.floor(Math.min(certain, wall))), // K6
    };
  }
}
