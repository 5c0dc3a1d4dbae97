// Recent keys: a bounded set of record keys that forgets the oldest.
//   G1. Two generations: when the newer one is full, the older one is dropped. A key stays for at
//       least half of the bound, and every call takes constant time.

import type { RecordKey } from "../../ports/record.ts";

export interface RecentKeys {
  add(key: RecordKey): void;
  has(key: RecordKey): boolean;
}

export function createRecentKeys(keysMax: number): RecentKeys {
  let newer = new Set<RecordKey>();
  let older = new Set<RecordKey>();
  return {
    add(key) {
      newer.add(key);
      if (newer.size < keysMax / 2) return;
      older = newer; // G1
      newer = new Set();
    },
    has: (key) => newer.has(key) || older.has(key),
  };
}
