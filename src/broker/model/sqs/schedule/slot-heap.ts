// SlotHeap: slots ordered by one column, smallest first. Each slot knows its position, so a deleted
// or extended message leaves or moves in O(log n) without a search.
//   H1. position.get(slot) - 1 is the slot's index in the heap; 0 means it is not in the heap.

import { assert } from "../../../../core/assert.ts";
import { type Column, createUint32Column } from "./columns.ts";

export class SlotHeap {
  readonly #key: Column;
  readonly #position: Column;
  readonly #slots = createUint32Column();
  #length = 0;

  constructor(key: Column, position: Column) {
    this.#key = key;
    this.#position = position;
  }

  get length(): number {
    return this.#length;
  }

  /** The slot with the smallest key, or 0. */
  get top(): number {
    return this.#length === 0 ? 0 : this.#slots.get(0);
  }

  /** The slot at an index of the heap, in no order; for walks over all of them. */
  at(index: number): number {
    return this.#slots.get(index);
  }

  has(slot: number): boolean {
    return this.#position.get(slot) !== 0;
  }

  push(slot: number): void {
    assert(!this.has(slot), "a slot enters a heap once"); // H1
    this.#slots.reserve(this.#length + 1);
    this.#length += 1;
    this.#rise(this.#length - 1, slot);
  }

  remove(slot: number): void {
    const index = this.#position.get(slot) - 1;
    assert(index >= 0, "a slot leaves a heap it is in"); // H1
    this.#position.set(slot, 0);
    this.#length -= 1;
    if (index === this.#length) return;
    const last = this.#slots.get(this.#length);
    this.#place(index, last);
  }

  /** Call after the key of a slot in the heap has changed. */
  update(slot: number): void {
    this.#place(this.#position.get(slot) - 1, slot);
  }

  #place(index: number, slot: number): void {
    const parent = (index - 1) >>> 1;
    if (index > 0 && this.#key.get(this.#slots.get(parent)) > this.#key.get(slot)) {
      this.#rise(index, slot);
    } else {
      this.#sink(index, slot);
    }
  }

  #put(index: number, slot: number): void {
    this.#slots.set(index, slot);
    this.#position.set(slot, index + 1);
  }

  #rise(start: number, slot: number): void {
    const key = this.#key.get(slot);
    let index = start;
    while (index > 0) {
      const parent = (index - 1) >>> 1;
      const above = this.#slots.get(parent);
      if (this.#key.get(above) <= key) break;
      this.#put(index, above);
      index = parent;
    }
    this.#put(index, slot);
  }

  #sink(start: number, slot: number): void {
    const key = this.#key.get(slot);
    let index = start;
    for (;;) {
      let child = 2 * index + 1;
      if (child >= this.#length) break;
      let below = this.#slots.get(child);
      if (child + 1 < this.#length) {
        const right = this.#slots.get(child + 1);
        if (this.#key.get(right) < this.#key.get(below)) {
          child += 1;
          below = right;
        }
      }
      if (this.#key.get(below) >= key) break;
      this.#put(index, below);
      index = child;
    }
    this.#put(index, slot);
  }
}
