// Frozen holders: a process that stops inside a call of the ledger or the outbox, for longer than
// its lease, and later continues with that call as if nothing had happened.
//   Z1. It stops before the effect of the call, with the locks of its records, or after the effect,
//       with a claim whose lease runs out meanwhile.
//   Z2. Locks end when the database ends a silent transaction, or when the process continues. For
//       all other processes a locked record is busy, and every other record works.
//   Z3. All threads of a process stop together.
//   Z4. Draws have their own stream: a seed without this fault has the same world as before.

import type { SimProcess } from "../hosts/process.ts";
import type { Scheduler } from "../scheduler.ts";
import type { Faults } from "./call-faults.ts";
import { createNamedDice, hashText, type NamedDice } from "./named-random.ts";

/** How long a process is frozen, in leases. */
const FROZEN_LEASES_MIN = 1.2;
const FROZEN_LEASES_MAX = 5;
/** When the database ends a silent transaction (Z2). */
const SILENT_MS_MAX = 5_000;

export interface FrozenHoldersOptions {
  readonly seed: number;
  /** Probability per call. */
  readonly rate: number;
  readonly leaseMs: number;
  readonly scheduler: Scheduler;
  readonly faults: Pick<Faults, "fires">;
  readonly quietAt: number;
}

interface Lock {
  readonly holder: SimProcess;
  readonly until: number;
}

export class FrozenHolders {
  readonly #options: FrozenHoldersOptions;
  readonly #dice: NamedDice;
  readonly #calls = new Map<string, number>();
  readonly #threads = new WeakMap<SimProcess, readonly SimProcess[]>();
  readonly #locks = new Map<string, Lock>();

  constructor(options: FrozenHoldersOptions) {
    this.#options = options;
    this.#dice = createNamedDice(options.seed, "frozen-holders"); // Z4
  }

  /** The threads of one process; only processes that joined are frozen (Z3). */
  join(threads: readonly SimProcess[]): void {
    for (const thread of threads) this.#threads.set(thread, threads);
  }

  /** Runs a call, in the middle of which the process may freeze (Z1). */
  run<T>(
    process: SimProcess,
    method: string,
    keys: readonly string[],
    work: () => Promise<T>,
  ): Promise<T> {
    const freeze = this.#draw(process, method);
    if (freeze === null) return work();
    const { ms, isBefore, isSilent } = freeze;
    const woken = this.#freeze(process, ms);
    if (!isBefore) {
      const done = work();
      done.catch(() => undefined); // It may fail before the process continues and notices.
      return woken.then(() => done);
    }
    const { now } = this.#options.scheduler;
    const until = now + (isSilent ? Math.min(ms, SILENT_MS_MAX) : ms); // Z2
    for (const key of keys) this.#locks.set(key, { holder: process, until });
    return woken.then(work);
  }

  /** Whether another process has locked the record. */
  isLocked(process: SimProcess, key: string): boolean {
    const lock = this.#locks.get(key);
    if (lock === undefined || lock.holder === process) return false;
    if (lock.holder.alive && lock.until > this.#options.scheduler.now) return true;
    this.#locks.delete(key);
    return false;
  }

  get hasLocks(): boolean {
    return this.#locks.size > 0;
  }

  #draw(process: SimProcess, method: string) {
    const { rate, leaseMs, faults, quietAt, scheduler } = this.#options;
    if (rate === 0 || process.frozen || !this.#threads.has(process)) return null;
    const point = `frozen/${process.name}/${method}`;
    const call = (this.#calls.get(point) ?? 0) + 1;
    this.#calls.set(point, call);
    const id = `${point}#${call}`;
    if (!this.#dice.roll(id, rate)) return null;
    const drawnMs = this.#dice.scaled(
      `${id} ms`,
      FROZEN_LEASES_MIN * leaseMs,
      FROZEN_LEASES_MAX * leaseMs,
    );
    const ms = Math.min(drawnMs, quietAt - scheduler.now);
    const isBefore = this.#dice.roll(`${id} before`, 0.5);
    const isSilent = this.#dice.roll(`${id} silent`, 0.5);
    const where = isBefore ? "before it takes effect, with its locks" : "after it took effect";
    const what = `${process.name} freezes for ${ms} ms in ${method}, ${where}`;
    return faults.fires(id, what) ? { ms, isBefore, isSilent } : null;
  }

  /** Resolves when the process continues. */
  #freeze(process: SimProcess, ms: number): Promise<void> {
    const threads = this.#threads.get(process) ?? [process];
    for (const thread of threads) thread.freeze();
    return new Promise((resolve) => {
      this.#options.scheduler.after(ms, hashText(`frozen/${process.name}`), () => {
        for (const thread of threads) thread.thaw();
        resolve();
      });
    });
  }
}
