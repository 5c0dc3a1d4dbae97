// Show records: what the ledger says of many records at once.
//   S1. A ledger tells of one record per request, so requests go side by side, a bounded number at
//       a time: what takes a journey each takes one journey for all, and no store is flooded.

import type { Ledger, RecordView } from "../../ports/ledger.ts";
import type { LedgerScope, RecordKey } from "../../ports/record.ts";

/**
 * Requests under way at once (S1). DynamoDB has as many sockets; a pool of PostgreSQL has fewer
 * connections and lets the others wait for their turn.
 */
export const ASKED_AT_ONCE_MAX = 25;

export type RecordViews = ReadonlyMap<RecordKey, RecordView>;

/** What is known of each of them; those that the ledger does not know are left out. */
export async function showRecords(
  ledger: Ledger,
  scope: LedgerScope,
  keys: Iterable<RecordKey>,
): Promise<RecordViews> {
  const views = new Map<RecordKey, RecordView>();
  await sideBySide([...new Set(keys)], async (key) => {
    const view = await ledger.show(scope, key);
    if (view !== undefined) views.set(key, view);
  });
  return views;
}

/** Asks about each item, ASKED_AT_ONCE_MAX at a time; answers come in the order of the items. */
export async function sideBySide<T, R>(
  items: readonly T[],
  ask: (item: T) => Promise<R>,
): Promise<R[]> {
  const answers: R[] = [];
  for (let at = 0; at < items.length; at += ASKED_AT_ONCE_MAX) {
    answers.push(...(await Promise.all(items.slice(at, at + ASKED_AT_ONCE_MAX).map(ask))));
  }
  return answers;
}

/** The same items in batches that can be asked about at once. */
export async function* batchesOf<T>(items: AsyncIterable<T>): AsyncGenerator<readonly T[]> {
  let batch: T[] = [];
  for await (const item of items) {
    batch.push(item);
    if (batch.length < ASKED_AT_ONCE_MAX) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}
