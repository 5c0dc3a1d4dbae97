// Room: how much may be under way at once. Whoever finds it full waits, first come first served.
//   R1. Never more than the limits, but for one that alone is over them: it waits until the room is
//       empty.

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

  /** Resolves once nobody is inside or waiting to be. */
  empty(): Promise<void> {
    if (this.#count === 0) return Promise.resolve();
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#watchers.push(resolve);
    return promise;
  }

  /** Resolves once there is room; `leave` with the same bytes gives it back. */
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
    for (const tell of this.#watchers.splice(0)) tell();
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
