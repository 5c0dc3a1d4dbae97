// Show records: reads many records from the ledger.
//   S1. The ledger reads one record per request. Requests run concurrently, so many records take
//       about one round trip; their number is bounded, so no store is overloaded.

import type { Ledger, RecordView } from "../../ports/ledger.ts";
import type { LedgerScope, RecordKey } from "../../ports/record.ts";

/**
 * Concurrent requests (S1). The DynamoDB client has as many sockets; a PostgreSQL pool has fewer
 * connections and queues the remaining requests.
 */
export const CONCURRENT_READS_MAX = 25;

export type RecordViews = ReadonlyMap<RecordKey, RecordView>;

/** The views by key, without the keys that the ledger does not have. */
export async function showRecords(
  ledger: Ledger,
  scope: LedgerScope,
  keys: Iterable<RecordKey>,
): Promise<RecordViews> {
  const views = new Map<RecordKey, RecordView>();
  await mapConcurrently([...new Set(keys)], async (key) => {
    const view = await ledger.show(scope, key);
    if (view !== undefined) views.set(key, view);
  });
  return views;
}

/** Calls `map` for each item, CONCURRENT_READS_MAX at a time. Results keep the order of `items`. */
export async function mapConcurrently<T, R>(
  items: readonly T[],
  map: (item: T) => Promise<R>,
): Promise<R[]> {
  const results: R[] = [];
  for (let at = 0; at < items.length; at += CONCURRENT_READS_MAX) {
    results.push(...(await Promise.all(items.slice(at, at + CONCURRENT_READS_MAX).map(map))));
  }
  return results;
}

/** The items in batches of CONCURRENT_READS_MAX. */
export async function* batchesOf<T>(items: AsyncIterable<T>): AsyncGenerator<readonly T[]> {
  let batch: T[] = [];
  for await (const item of items) {
    batch.push(item);
    if (batch.length < CONCURRENT_READS_MAX) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}
