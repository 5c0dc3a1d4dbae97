// Lease board: the expiry of each lease, in memory that two threads share. One thread renews
// leases, and the other reads whether they are valid without sending a message.
//   B1. A slot belongs to one lease. It is reused only after the renewing thread has processed the
//       order that dropped the lease: after that, the thread no longer writes to the slot.
//   B2. A lease has two expiries, by wall clock and by steady clock, and ends at the earlier one. A
//       read during a renewal therefore errs on the safe side.

import { type DurationMs, durationMs, epochMs } from "../../core/units.ts";
import { hasCome, type Moment } from "../../ingest/policy/lease-term.ts";
import { systemClock } from "../../platform/system-clock.ts";
import type { Clock } from "../../ports/clock.ts";

/** Leases at the same time. */
export const LEASES_MAX = 16_384;

const WORDS_BEFORE = 1;
const WORDS_PER_LEASE = 2;
const WORDS = WORDS_BEFORE + LEASES_MAX * WORDS_PER_LEASE;

/** A steady clock shared by all threads; performance.now() starts at 0 in each thread. */
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

  /** Writes the expiry of a lease; null means that it is lost. */
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

  /** The number of the last order that was processed. */
  get worked(): number {
    return Number(Atomics.load(this.#words, 0));
  }

  set worked(number: number) {
    Atomics.store(this.#words, 0, BigInt(number));
  }
}
