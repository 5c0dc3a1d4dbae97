// Lease board: until when each lease may be relied on, in memory that two threads share, so that
// one can judge what the other keeps without asking it.
//   B1. A slot belongs to one lease. It is given to another only after the keeper's thread has
//       worked off the order that dropped the first: after that it writes to the slot no more.
//   B2. A lease is over by whichever of its two ends comes first, so that whoever reads them while
//       they are being prolonged errs on the safe side.

import { type DurationMs, durationMs, epochMs } from "../../core/units.ts";
import { hasCome, type Moment } from "../../ingest/policy/lease-term.ts";
import { systemClock } from "../../platform/system-clock.ts";
import type { Clock } from "../../ports/clock.ts";

/** Leases held at once. */
export const LEASES_MAX = 16_384;

const WORDS_BEFORE = 1;
const WORDS_PER_LEASE = 2;
const WORDS = WORDS_BEFORE + LEASES_MAX * WORDS_PER_LEASE;

/** The steady clock of the whole process; each thread's own counts from the thread's beginning. */
export const processClock: Clock = {
  ...systemClock,
  monotonic: (): DurationMs => durationMs(Number(process.hrtime.bigint() / 1_000_000n)),
};

export function newBoardMemory(): SharedArrayBuffer {
  return new SharedArrayBuffer(WORDS * BigInt64Array.BYTES_PER_ELEMENT);
}

export class LeaseBoard {
  readonly #words: BigInt64Array;

  constructor(memory: SharedArrayBuffer) {
    this.#words = new BigInt64Array(memory);
  }

  /** Says until when a lease may be relied on; null: no longer. */
  write(slot: number, end: Moment | null): void {
    const at = WORDS_BEFORE + slot * WORDS_PER_LEASE;
    Atomics.store(this.#words, at, BigInt(end?.wall ?? 0));
    Atomics.store(this.#words, at + 1, BigInt(end?.steady ?? 0));
  }

  isOver(slot: number, now: Moment): boolean {
    const at = WORDS_BEFORE + slot * WORDS_PER_LEASE;
    const wall = epochMs(Number(Atomics.load(this.#words, at)));
    const steady = durationMs(Number(Atomics.load(this.#words, at + 1)));
    return hasCome({ wall, steady }, now);
  }

  /** The number of the last order that was worked off. */
  get worked(): number {
    return Number(Atomics.load(this.#words, 0));
  }

  set worked(number: number) {
    Atomics.store(this.#words, 0, BigInt(number));
  }
}
