// Process: something that runs our code and may be killed, frozen, or wrong about the time.
//   P1. A killed process hears nothing any more and does nothing any more; what it had asked for
//       happens all the same.
//   P2. A frozen one hears everything later, in order, and acts on it without knowing: a zombie.
//   P3. Its wall clock is the world's plus a skew that may jump; its steady clock is the world's.

import { type DurationMs, durationMs, epochMs } from "../../core/units.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Turn } from "../../ports/turn.ts";
import { hashText } from "../faults/named-random.ts";
import type { Scheduled, Scheduler } from "../scheduler.ts";

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
  #heldBack: (() => void)[] = [];
  readonly #sleepers = new WeakMap<AbortSignal, Set<Sleeper>>();
  /** How far its wall clock is ahead. P3 */
  skewMs = 0;

  constructor(
    name: string,
    scheduler: Scheduler,
    onCrash: (process: SimProcess, word: number) => void,
  ) {
    this.name = name;
    this.#scheduler = scheduler;
    this.#label = hashText(name);
    this.#onCrash = onCrash;
    const startedAt = scheduler.now;
    this.clock = {
      now: () => epochMs(scheduler.now + this.skewMs),
      monotonic: () => durationMs(scheduler.now - startedAt),
      sleep: (span, signal) => this.#sleep(span, signal),
    };
    this.turn = {
      afterTurn: (work) => {
        if (this.#alive) scheduler.at(scheduler.now, this.#label, () => this.hear(work));
      },
    };
  }

  get alive(): boolean {
    return this.#alive;
  }

  get frozen(): boolean {
    return this.#frozen;
  }

  /** Something reaches the process. */
  hear(work: () => void): void {
    if (!this.#alive) return; // P1
    if (this.#frozen)
      this.#heldBack.push(work); // P2
    else work();
  }

  kill(): void {
    this.#alive = false;
    this.#heldBack = [];
  }

  /** Dies of a fault: whoever looks after it hears of it. */
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
    const waiting = this.#heldBack;
    this.#heldBack = [];
    const { now } = this.#scheduler;
    for (const work of waiting) this.#scheduler.at(now, this.#label, () => this.hear(work)); // P2
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
      const timer = this.#scheduler.after(Math.max(0, span), this.#label, () => this.hear(wake));
      const sleeper = { timer, reject };
      sleepers?.add(sleeper);
    });
  }

  /** Those who sleep until a signal: one listener for all, as listeners are dear. */
  #sleepersOf(signal: AbortSignal): Set<Sleeper> {
    const known = this.#sleepers.get(signal);
    if (known !== undefined) return known;
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
