// StoreTime: the time of a ledger or an outbox, which many processes with their own clocks share.
//   T1. Stamps and leases are by the system clock, or by the database server's. A clock that is
//       over a day behind the store is replaced by the store's time (K7 of core/store-clock.ts).
//   T2. What expires is compared with `expiry`: a leap that is not confirmed expires nothing.
//   T3. The store keeps a mark, the newest certain instant. Every process continues from it, and
//       moves it on with a write, at most every MARK_MS. Records do not prove the time: a process
//       whose clock leapt may have written them.
//   T4. A mark that another process has moved on without waiting contradicts a leap: the wait
//       starts over. A mark that is where the leap led confirms it.
//   T5. Callers compare instants with their own clocks, so those they wait for are converted.
//   T6. A virtual clock is believed, and needs no marks.

import type { ClockLeap, ClockReadings } from "../core/store-clock.ts";
import { StoreClock } from "../core/store-clock.ts";
import {
  addMs,
  type DurationMs,
  durationMs,
  type EpochMs,
  epochMs,
  hours,
  minutes,
  msBetween,
  subtractMs,
} from "../core/units.ts";
import type { Clock } from "../ports/clock.ts";

/** The instants by which a transition decides. */
export interface LedgerInstant {
  readonly now: EpochMs;
  /** What expires at this instant or earlier has expired (T2). */
  readonly expiry: EpochMs;
}

/** What the store keeps (T3). */
export interface TimeMark {
  readonly at: EpochMs;
  /** How long the process that wrote it has waited for a leap to count; 0 without a leap. */
  readonly waitedMs: DurationMs;
}

export interface StoreTimeOptions {
  /** Believes the clock, however far it is ahead of the store. Default: false. */
  readonly acceptClock?: boolean | undefined;
}

/** How often a process moves the mark on (T3). */
export const MARK_MS: DurationMs = minutes(10);

/** The time of a store, for what only reads it. */
export interface LedgerTime {
  read(): LedgerInstant;
  leap(): ClockLeap | null;
  /** Added to an instant of the store, it is one of the caller's clock (T5). */
  shiftMs(): DurationMs;
  /** An instant of the past on the caller's clock, as long before `expiry` (T2, T5). */
  toStore(instant: EpochMs | null): EpochMs | null;
}

export class StoreTime implements LedgerTime {
  readonly #clock: Clock;
  readonly #createTime: () => StoreClock;
  readonly #virtual: boolean;
  #time: StoreClock;
  #saved: TimeMark | null = null;

  /** `source` is the clock of the database server, if there is one (T1). */
  constructor(clock: Clock, options: StoreTimeOptions = {}, source: ClockReadings = clock) {
    this.#clock = clock;
    this.#virtual = clock.virtual === true;
    this.#createTime = () => new StoreClock(source, { acceptLeaps: options.acceptClock });
    this.#time = this.#createTime();
  }

  /** Continues from the mark of the store (T3), or from `newest` in a store without one. */
  continueFrom(mark: TimeMark | null, newest: EpochMs | null = null): void {
    const at = mark?.at ?? newest;
    if (this.#virtual) return; // T6
    this.#saved = mark;
    const { waitedMs = durationMs(0) } = mark ?? {};
    if (at !== null) this.#time.continueFrom(at, { leaps: [], refuted: 0, waitedMs });
    this.#time.read(); // From here on, time is measured, also in a store without a mark.
  }

  read(): LedgerInstant {
    const { wall, expiry } = this.#time.read();
    return { now: wall, expiry };
  }

  readonly now = (): EpochMs => this.read().now;

  /** A leap that is not confirmed; nothing expires by it. */
  leap(): ClockLeap | null {
    this.#time.read();
    return this.#time.leap();
  }

  /** Whether the mark must be moved on with the next write (T3). */
  isMarkDue(): boolean {
    if (this.#virtual) return false; // T6
    return this.#saved === null || this.#certain() - this.#saved.at >= MARK_MS;
  }

  /** Learns from the stored mark and returns the one to store. */
  exchange(stored: TimeMark | null): TimeMark {
    if (stored !== null && this.#saved === null) {
      // The store was empty when this process opened it: another process knows more.
      this.#time = this.#createTime();
      this.continueFrom(stored);
    } else if (stored !== null && stored.at > (this.#saved?.at ?? 0)) {
      const waited = this.#time.mark()?.waitedMs ?? 0;
      // A shorter wait is that of a process which saved earlier; none at all means a right clock.
      if (stored.waitedMs === 0 && waited > 0) this.#time.restartWait(); // T4
      this.#time.learn(stored.at); // T4
    }
    const certain = this.#certain();
    const waitedMs = this.#time.mark()?.waitedMs ?? durationMs(0);
    this.#saved = { at: epochMs(Math.max(certain, stored?.at ?? 0)), waitedMs };
    return this.#saved;
  }

  toStore(instant: EpochMs | null): EpochMs | null {
    if (instant === null) return null;
    return subtractMs(this.read().expiry, msBetween(instant, this.#clock.now()));
  }

  shiftMs(): DurationMs {
    return msBetween(this.now(), this.#clock.now());
  }

  #certain(): EpochMs {
    return this.#time.read().expiry;
  }
}

/** The times of a purge, for rows that a caller wants deleted before they expire. */
export function purgeTimes(time: LedgerTime, sentBefore: EpochMs | null = null) {
  return { now: time.read().expiry, sentBefore: time.toStore(sentBefore) };
}

/** Results with the instants that callers wait for on the callers' clock (T5). */
export function onCallersClock<R extends { readonly kind: string }>(
  results: R[],
  time: LedgerTime,
): R[] {
  if (!results.some(({ kind }) => kind === "busy")) return results;
  const shiftMs = time.shiftMs();
  if (shiftMs === 0) return results;
  return results.map((result) => {
    if (!("until" in result) || typeof result.until !== "number") return result;
    return { ...result, until: addMs(epochMs(result.until), shiftMs) };
  });
}

/** The leap as a clause for a log line or an error. */
export function describeLeap({ aheadMs, remainingMs }: ClockLeap): string {
  const ahead = Math.round(aheadMs / hours(1));
  const remaining = Math.ceil(remainingMs / hours(1));
  return (
    `the clock is ${ahead} hours ahead of the newest instant in the store; ` +
    `nothing expires by it for the next ${remaining} hours of running`
  );
}

/** The leap as a problem of the store, for `check`. */
export function leapProblems(leap: ClockLeap | null): string[] {
  return leap === null ? [] : [`${describeLeap(leap).replace(/^t/, "T")}.`];
}
