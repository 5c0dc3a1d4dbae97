// Process: runs production code, and may be killed, frozen, or have a wrong clock.
//   P1. A killed process receives nothing and does nothing any more; requests it has already sent
//       are still carried out.
//   P2. A frozen process receives everything later, in order, and acts on it unaware of the delay:
//       it is a zombie.
//   P3. Its wall clock is the world's plus a skew that may jump; its monotonic clock is the
//       world's.
//   P4. The clock of its computer may leap by days. That outlives the process.

import { type DurationMs, durationMs, epochMs } from "../../core/units.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Turn } from "../../ports/turn.ts";
import { hashText } from "../faults/named-random.ts";
import type { Scheduled, Scheduler } from "../scheduler.ts";

/** The clock of a computer, on which processes run one after the other (P4). */
export interface HostClock {
  aheadMs: number;
}

interface Sleeper {
  readonly timer: Scheduled;
  readonly reject: (reason: unknown) => void;
}

export class SimProcess {
  readonly name: string;
  readonly clock: Clock;
  readonly turn: Turn;
  readonly #scheduler: Scheduler;
  readonly #label: number;
  readonly #onCrash: (process: SimProcess, word: number) => void;
  #alive = true;
  #frozen = false;
  #pending: (() => void)[] = [];
  readonly #sleepers = new WeakMap<AbortSignal, Set<Sleeper>>();
  /** How far its wall clock is ahead. P3 */
  skewMs = 0;

  constructor(
    name: string,
    scheduler: Scheduler,
    onCrash: (process: SimProcess, word: number) => void,
    host: HostClock = { aheadMs: 0 },
  ) {
    this.name = name;
    this.#scheduler = scheduler;
    this.#label = hashText(name);
    this.#onCrash = onCrash;
    const startedAt = scheduler.now;
    this.clock = {
      now: () => epochMs(scheduler.now + this.skewMs + host.aheadMs),
      monotonic: () => durationMs(scheduler.now - startedAt),
      sleep: (span, signal) => this.#sleep(span, signal),
    };
    this.turn = {
      afterTurn: (work) => {
        if (this.#alive) scheduler.at(scheduler.now, this.#label, () => this.dispatch(work));
      },
    };
  }

  get alive(): boolean {
    return this.#alive;
  }

  get frozen(): boolean {
    return this.#frozen;
  }

  /** Runs `work` in the process: a timer fired or a response arrived. */
  dispatch(work: () => void): void {
    if (!this.#alive) return; // P1
    if (this.#frozen)
      this.#pending.push(work); // P2
    else work();
  }

  kill(): void {
    this.#alive = false;
    this.#pending = [];
  }

  /** Kills the process because of a fault, and notifies its host. */
  crash(word: number): void {
    if (!this.#alive) return;
    this.kill();
    this.#onCrash(this, word);
  }

  freeze(): void {
    this.#frozen = true;
  }

  thaw(): void {
    if (!this.#frozen) return;
    this.#frozen = false;
    const waiting = this.#pending;
    this.#pending = [];
    const { now } = this.#scheduler;
    // P2
    for (const work of waiting) this.#scheduler.at(now, this.#label, () => this.dispatch(work));
  }

  #sleep(span: DurationMs, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) {
        reject(signal.reason);
        return;
      }
      if (!this.#alive) return;
      const sleepers = signal === undefined ? null : this.#sleepersOf(signal);
      const wake = () => {
        sleepers?.delete(sleeper);
        resolve();
      };
      const timer = this.#scheduler.after(Math.max(0, span), this.#label, () =>
        this.dispatch(wake),
      );
      const sleeper = { timer, reject };
      sleepers?.add(sleeper);
    });
  }

  /** The sleepers of one signal share one listener, because listeners are expensive. */
  #sleepersOf(signal: AbortSignal): Set<Sleeper> {
    const existing = this.#sleepers.get(signal);
    if (existing !== undefined) return existing;
    const sleepers = new Set<Sleeper>();
    this.#sleepers.set(signal, sleepers);
    const abort = () => {
      for (const { timer, reject } of sleepers) {
        timer.work = null;
        reject(signal.reason);
      }
    };
    signal.addEventListener("abort", abort, { once: true });
    return sleepers;
  }
}

/** Runs a process to its end. If a service is down, it crashes, and is started again. */
export function runProcess(process: SimProcess, run: (process: SimProcess) => Promise<void>): void {
  const running = run(process).catch(() => process.crash(0));
  void running.then(() => process.kill());
}
