// Key tail: pairs of hash and row id in typed arrays. A Map of as many numbers takes several times
// the memory and time, because V8 allocates every hash on the heap.
//   T1. Pairs are numbered in the order of their arrival, and slots are filled in that order, also
//       when the tail grows. So the newest pair is removed by emptying its slot: no other pair was
//       placed behind it.
//   T2. At most half of the slots are used, so that a search ends soon.

import { assert } from "../../../core/assert.ts";

const PAIRS_START = 1_024;
/** The golden ratio in 32 bits: spreads hashes that are close to each other. */
const SPREAD = 0x9e3779b1;

export class KeyTail {
  #hashes = new Float64Array(PAIRS_START);
  #ids = new Float64Array(PAIRS_START);
  /** The number of a pair, from 1; 0 is an empty slot. */
  #slots = new Int32Array(2 * PAIRS_START);
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** The slot where the search for a hash begins. */
  #slotOf(hash: number): number {
    return (Math.imul(hash | 0, SPREAD) >>> 7) & (this.#slots.length - 1);
  }

  add(hash: number, id: number): void {
    if (this.#size === this.#hashes.length) this.#grow();
    this.#hashes[this.#size] = hash;
    this.#ids[this.#size] = id;
    this.#size += 1;
    this.#place(this.#size);
  }

  #place(pair: number): void {
    const mask = this.#slots.length - 1;
    let slot = this.#slotOf(this.#hashes[pair - 1] ?? 0);
    while (this.#slots[slot] !== 0) slot = (slot + 1) & mask;
    this.#slots[slot] = pair;
  }

  #grow(): void {
    const larger = (pairs: Float64Array) => {
      const copy = new Float64Array(2 * pairs.length);
      copy.set(pairs);
      return copy;
    };
    this.#hashes = larger(this.#hashes);
    this.#ids = larger(this.#ids);
    this.#slots = new Int32Array(2 * this.#hashes.length); // T2
    for (let pair = 1; pair <= this.#size; pair += 1) this.#place(pair); // T1
  }

  /** Removes the pair that was added last. */
  removeLast(): { readonly hash: number; readonly id: number } {
    assert(this.#size > 0, "a tail without pairs has no last one");
    const hash = this.#hashes[this.#size - 1] ?? 0;
    const id = this.#ids[this.#size - 1] ?? 0;
    const mask = this.#slots.length - 1;
    let slot = this.#slotOf(hash);
    while (this.#slots[slot] !== this.#size) slot = (slot + 1) & mask;
    this.#slots[slot] = 0; // T1
    this.#size -= 1;
    return { hash, id };
  }

  has(hash: number): boolean {
    return this.find(hash, () => true) !== null;
  }

  /** The first answer of `accept` for an id with this hash that is not null; else null. */
  find<T>(hash: number, accept: (id: number) => T | null): T | null {
    const mask = this.#slots.length - 1;
    for (let slot = this.#slotOf(hash); ; slot = (slot + 1) & mask) {
      const pair = this.#slots[slot] ?? 0;
      if (pair === 0) return null;
      if (this.#hashes[pair - 1] !== hash) continue;
      const answer = accept(this.#ids[pair - 1] ?? 0);
      if (answer !== null) return answer;
    }
  }

  /** The hashes of the rows above an id, in ascending order. */
  sortedHashes(above: number): Float64Array<ArrayBuffer> {
    const hashes = new Float64Array(this.#size);
    let count = 0;
    for (let at = 0; at < this.#size; at += 1) {
      if ((this.#ids[at] ?? 0) > above) hashes[count++] = this.#hashes[at] ?? 0;
    }
    return hashes.subarray(0, count).sort();
  }
}
