// Has records: the ledger's read of many keys on top of a store's. The checks and the order of the
// answers are the same everywhere.

import type { LedgerScope, RecordKey } from "../ports/record.ts";
import { checkBatch } from "./batches.ts";

/** Those of `keys` that have a live record. `keys` is not empty and has no key twice. */
export type FindLive = (
  scope: LedgerScope,
  keys: readonly RecordKey[],
) => Promise<ReadonlySet<string>>;

export function hasRecordsCall(findLive: FindLive) {
  return {
    async hasRecords(scope: LedgerScope, keys: readonly RecordKey[]): Promise<boolean[]> {
      const items = keys.map((key) => ({ key }));
      checkBatch(scope, items, { takesWrites: false });
      if (keys.length === 0) return [];
      const live = await findLive(scope, [...new Set(keys)]);
      return keys.map((key) => live.has(key));
    },
  };
}
