// Recent keys: a bounded set of record keys that forgets old ones. It is a hint, not a proof.
//   G1. A key has one slot, by its hash, and a newer key of the same slot replaces it. Numbers in
//       typed arrays, because a Set of texts that always changes is work for the garbage collector.
//   G2. A slot has 52 bits of hash, so two keys that look alike are rare, but possible.
//   G3. Slots are in pages, and a page exists once it has a key: a consumer that ends after a few
//       records, as in tests and the simulator, does not clear half a megabyte first.

import type { RecordKey } from "../../ports/record.ts";

export interface RecentKeys {
  add(key: RecordKey): void;
  has(key: RecordKey): boolean;
}

const LOW_BITS = 0x100000;
const PAGE_BITS = 10;
const PAGE_SLOTS = 1 << PAGE_BITS;

/** The lower half chooses the slot; both together identify the key (G2). */
function hashOf(key: string): number {
  let a = 0x811c9dc5;
  let b = 0x9e3779b9;
  for (let at = 0; at < key.length; at += 1) {
    const unit = key.charCodeAt(at);
    a = Math.imul(a ^ unit, 0x01000193);
    b = Math.imul(b ^ unit, 0x85ebca6b);
    b ^= b >>> 15;
  }
  return (b >>> 0) * LOW_BITS + ((a ^ (a >>> 12)) & (LOW_BITS - 1)) + 1;
}

/** `keysMax`: a power of two, at most 2^20. */
export function createRecentKeys(keysMax: number): RecentKeys {
  const pages: (Float64Array | undefined)[] = [];
  const slotOf = (hash: number) => hash & (keysMax - 1);
  return {
    add(key) {
      const hash = hashOf(key);
      const slot = slotOf(hash);
      const page = pages[slot >>> PAGE_BITS] ?? new Float64Array(PAGE_SLOTS);
      page[slot & (PAGE_SLOTS - 1)] = hash; // G1
      pages[slot >>> PAGE_BITS] = page; // G3
    },
    has(key) {
      const hash = hashOf(key);
      const slot = slotOf(hash);
      return pages[slot >>> PAGE_BITS]?.[slot & (PAGE_SLOTS - 1)] === hash;
    },
  };
}
