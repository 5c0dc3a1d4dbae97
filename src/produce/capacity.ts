// Capacity: limits how much is in flight. When it is full, callers wait in the order of arrival.
//   R1. The limits are never exceeded, except by a single item that is larger than they are: it
//       waits until nothing else is in flight.

export interface CapacityLimits {
  readonly countMax: number;
  readonly bytesMax: number;
}

export class Capacity {
  readonly #limits: CapacityLimits;
  readonly #queue: { readonly bytes: number; enter(): void }[] = [];
  #watchers: (() => void)[] = [];
  #count = 0;
  #bytes = 0;

  constructor(limits: CapacityLimits) {
    this.#limits = limits;
  }

  /** Resolves once nothing is in flight or waiting. */
  empty(): Promise<void> {
    if (this.#count === 0) return Promise.resolve();
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#watchers.push(resolve);
    return promise;
  }

  /** Resolves once there is capacity; `leave` with the same bytes releases it. */
  enter(bytes: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#queue.push({ bytes, enter: resolve });
    this.#admit();
    return promise;
  }

  leave(bytes: number): void {
    this.#count -= 1;
    this.#bytes -= bytes;
    this.#admit();
    if (this.#count > 0) return;
    for (const notify of this.#watchers.splice(0)) notify();
  }

  #admit(): void {
    for (;;) {
      const next = this.#queue[0];
      if (next === undefined) return;
      const fits =
        this.#count < this.#limits.countMax && this.#bytes + next.bytes <= this.#limits.bytesMax;
      if (!fits && this.#count > 0) return; // R1
      this.#queue.shift();
      this.#count += 1;
      this.#bytes += next.bytes;
      next.enter();
    }
  }
}
