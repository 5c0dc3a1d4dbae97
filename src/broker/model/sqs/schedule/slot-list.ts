// SlotList: a doubly linked list threaded through the slab; a message is in at most one list.

import type { MessageSlab } from "./message-slab.ts";

export class SlotList {
  readonly #slab: MessageSlab;
  #head = 0;
  #tail = 0;
  #length = 0;

  constructor(slab: MessageSlab) {
    this.#slab = slab;
  }

  /** The first slot, or 0. */
  get head(): number {
    return this.#head;
  }

  get length(): number {
    return this.#length;
  }

  pushBack(slot: number): void {
    const slab = this.#slab;
    slab.next.set(slot, 0);
    slab.previous.set(slot, this.#tail);
    if (this.#tail === 0) this.#head = slot;
    else slab.next.set(this.#tail, slot);
    this.#tail = slot;
    this.#length += 1;
  }

  remove(slot: number): void {
    const slab = this.#slab;
    const next = slab.next.get(slot);
    const previous = slab.previous.get(slot);
    if (previous === 0) this.#head = next;
    else slab.next.set(previous, next);
    if (next === 0) this.#tail = previous;
    else slab.previous.set(next, previous);
    slab.next.set(slot, 0);
    slab.previous.set(slot, 0);
    this.#length -= 1;
  }
}
