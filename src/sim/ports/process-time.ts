// Process time: the time of a shared store as each simulated process sees it, by its own clock. The
// store's mark is the world's, as it is the table's in production.
//   P1. The store asks for the time of the caller that it serves; without one, it is the world's.

import { type DurationMs, durationMs, epochMs } from "../../core/units.ts";
import {
  type LedgerInstant,
  type LedgerTime,
  StoreTime,
  type TimeMark,
} from "../../ledger/store-time.ts";
import type { SimProcess } from "../hosts/process.ts";
import type { Scheduler } from "../scheduler.ts";

/** The caller that a store serves, and the time on its clock (P1). */
export interface StoreCaller {
  actor: string;
  at: (LedgerInstant & { readonly shiftMs: DurationMs }) | null;
  /** The mark of the store. */
  mark: TimeMark | null;
}

export function createStoreCaller(): StoreCaller {
  return { actor: "", at: null, mark: null };
}

/** The time that a shared store uses. */
export function callersTime(scheduler: Scheduler, caller: StoreCaller): LedgerTime {
  return {
    read() {
      const now = epochMs(scheduler.now);
      return caller.at ?? { now, expiry: now };
    },
    leap: () => null,
    shiftMs: () => caller.at?.shiftMs ?? durationMs(0),
    toStore: (instant) => {
      if (instant === null || caller.at === null) return instant;
      const { now, expiry, shiftMs } = caller.at;
      return epochMs(instant - (now + shiftMs - expiry));
    },
  };
}

export type ProcessTime = ReturnType<typeof createProcessTime>;

/** The time of a store as one process sees it. */
export function createProcessTime(process: SimProcess, caller: StoreCaller) {
  const time = new StoreTime(process.clock);
  time.continueFrom(caller.mark);
  const read = (): NonNullable<StoreCaller["at"]> => {
    if (time.isMarkDue()) caller.mark = time.exchange(caller.mark);
    return { ...time.read(), shiftMs: time.shiftMs() };
  };
  return {
    read,
    leap: () => time.leap(),
    /** Runs `work` under the process's clock; a memory store acts before it first waits. */
    as<T>(at: ReturnType<typeof read>, work: () => Promise<T>): Promise<T> {
      caller.actor = process.name;
      caller.at = at;
      try {
        return work();
      } finally {
        caller.at = null;
      }
    },
  };
}
