// BrokerTime: the broker's StoreClock, and what the store keeps of it.
//   B1. Stamps and leaps are in one commit: a stamp behind a leap is never stored without the leap.
//       A restart then does not take such a stamp for proof of the time.
//   B2. The current instant is stored every SAVE_MS with a commit that happens anyway, and at the
//       end. A broker that only served reads is then not taken for one that was off.
//   B3. A store in which nothing can expire is not asked: every clock is right for it.
//   B4. Each leap is reported once.

import { TidegateError } from "../../core/errors.ts";
import type { RunningTime } from "../../core/running-time.ts";
import {
  CLOCK_WAIT_MS,
  type ClockLeap,
  type ClockMark,
  StoreClock,
  type StoreClockOptions,
} from "../../core/store-clock.ts";
import { type DurationMs, type EpochMs, epochMs, hours, minutes } from "../../core/units.ts";
import type { Change } from "../../ports/broker/broker-change.ts";
import type { BrokerStore } from "../../ports/broker/broker-store.ts";
import type { Clock } from "../../ports/clock.ts";

/** The document of the collection "broker" that holds the clock. */
export const CLOCK_KEY = "clock";
const SAVE_MS: DurationMs = minutes(10);

/** What a store says about time. */
export interface StoreHistory {
  /** The newest instant of anything in it; 0 if it is empty. */
  readonly newest: EpochMs;
  /** Whether it holds anything that expires. */
  readonly expires: boolean;
  /** The stored clock. */
  readonly stored: string | null;
}

interface StoredClock {
  readonly at: number;
  readonly mark: ClockMark | null;
}

export class BrokerTime {
  readonly #clock: Clock;
  readonly #time: StoreClock;
  readonly #onLeap: (error: TidegateError) => void;
  #savedAt = Number.NEGATIVE_INFINITY;
  #savedLeaps = "[]";
  #reportedMs = 0;

  constructor(
    clock: Clock,
    options: StoreClockOptions,
    onLeap: (error: TidegateError) => void = () => {},
  ) {
    this.#clock = clock;
    this.#time = new StoreClock(clock, options);
    this.#onLeap = onLeap;
  }

  get running(): RunningTime {
    return this.#time.time;
  }

  leap(): ClockLeap | null {
    return this.#time.leap();
  }

  /** Continues from what the store holds, which may be less than this process knows. */
  continueFrom({ newest, expires, stored }: StoreHistory): EpochMs {
    const saved = stored === null ? null : (JSON.parse(stored) as StoredClock);
    const latest = Math.max(newest, saved?.at ?? 0);
    const mark = saved?.mark ?? null;
    const unopposed = !expires && mark === null; // B3
    this.#time.continueFrom(
      epochMs(unopposed ? Math.max(latest, this.#clock.now()) : latest),
      mark,
    );
    this.#savedAt = saved?.at ?? Number.NEGATIVE_INFINITY;
    this.#savedLeaps = JSON.stringify(mark?.leaps ?? []);
    return this.now();
  }

  now(): EpochMs {
    const { now } = this.#time.read();
    const leap = this.#time.leap();
    const aheadMs = leap?.aheadMs ?? 0;
    if (leap !== null && aheadMs > this.#reportedMs) this.#onLeap(leapError(leap)); // B4
    this.#reportedMs = aheadMs;
    return now;
  }

  /** Adds the clock to a commit if it is due (B1, B2). */
  addTo(changes: Change[], now: EpochMs): void {
    const mark = this.#time.mark();
    const leaps = JSON.stringify(mark?.leaps ?? []);
    const isDue = changes.length > 0 && now - this.#savedAt >= SAVE_MS;
    if (leaps === this.#savedLeaps && !isDue) return;
    changes.push(this.#change(now));
  }

  /** A store that fails loses nothing by it: the next start knows an older instant (B2). */
  async saveTo(store: Pick<BrokerStore, "commit">): Promise<void> {
    await store.commit([this.#change(this.now())]).catch(() => undefined);
  }

  #change(now: EpochMs): Change {
    const mark = this.#time.mark();
    this.#savedAt = now;
    this.#savedLeaps = JSON.stringify(mark?.leaps ?? []);
    const value = JSON.stringify({ at: now, mark } satisfies StoredClock);
    return { kind: "put-document", document: { collection: "broker", key: CLOCK_KEY, value } };
  }
}

function leapError({ aheadMs, remainingMs }: ClockLeap): TidegateError {
  const ahead = Math.round(aheadMs / hours(1));
  const remaining = Math.ceil(remainingMs / hours(1));
  const message =
    `the system clock is ${ahead} hours ahead of the newest instant in the store; ` +
    `nothing expires by it for the next ${remaining} of ${CLOCK_WAIT_MS / hours(1)} hours`;
  return new TidegateError("TG_CLOCK_LEAPT", message);
}
