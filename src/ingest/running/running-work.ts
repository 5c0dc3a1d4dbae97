// Running work: code of the user that has not ended, whether or not its attempt is over.
//   W1. An attempt ends when its signal aborts, and nothing that its code does later can be
//       committed. The code itself cannot be ended from outside: it may ignore the signal. A
//       consumer that stops reports such code, so that its process does not wait for it.

import { type DurationMs, durationMs } from "../../core/units.ts";
import type { Clock } from "../../ports/clock.ts";

/** Code that still ran when its consumer had stopped (W1). */
export interface AbandonedWork {
  readonly messageId: string;
  /** Its record, masked: the object's URL, the key of a message; null outside a handler. */
  readonly record: string | null;
  readonly runningMs: DurationMs;
}

export class RunningWork {
  readonly #clock: Clock;
  readonly #works = new Set<() => AbandonedWork>();
  #onEmpty: (() => void)[] = [];

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Adds work until it ends; `record` names its record if it has to be reported. */
  watch(work: Promise<void>, messageId: string, record: () => string | null): void {
    const since = this.#clock.monotonic();
    const describe = () => {
      const runningMs = durationMs(Math.max(0, this.#clock.monotonic() - since));
      return { messageId, record: record(), runningMs };
    };
    this.#works.add(describe);
    const end = () => {
      this.#works.delete(describe);
      if (this.#works.size > 0) return;
      for (const listener of this.#onEmpty.splice(0)) listener();
    };
    work.then(end, end);
  }

  list(): readonly AbandonedWork[] {
    return [...this.#works].map((describe) => describe());
  }

  /** Resolves when none runs. */
  empty(): Promise<void> {
    if (this.#works.size === 0) return Promise.resolve();
    return new Promise((resolve) => this.#onEmpty.push(resolve));
  }
}
