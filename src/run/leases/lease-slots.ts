// Lease slots: the free slots of a lease board.

import { assert } from "../../core/assert.ts";
import { LEASES_MAX } from "./lease-board.ts";

interface FreedSlot {
  readonly slot: number;
  /** The order that drops its lease. */
  readonly order: number;
}

export class LeaseSlots {
  /** In the order of release; slots before `#head` are in use again. */
  #freed: FreedSlot[] = [];
  #head = 0;
  #untouched = 0;

  /** A slot that the other thread no longer writes to, given the last processed order. */
  take(worked: number): number {
    const first = this.#freed[this.#head];
    if (first !== undefined && first.order <= worked) {
      this.#head += 1;
      this.#compact();
      return first.slot;
    }
    assert(this.#untouched < LEASES_MAX, `at most ${LEASES_MAX} leases at the same time`);
    this.#untouched += 1;
    return this.#untouched - 1;
  }

  free(slot: number, order: number): void {
    this.#freed.push({ slot, order });
  }

  #compact(): void {
    if (this.#head < 1_024 || this.#head * 2 < this.#freed.length) return;
    this.#freed = this.#freed.slice(this.#head);
    this.#head = 0;
  }
}
