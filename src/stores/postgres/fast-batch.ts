// Fast batch: the fast path of a batch, one statement (P1). It answers as the transitions do in the
// common case: a new record is absent, and the committed claim is held.

import { addMs } from "../../core/units.ts";
import { type FastCommit, fastCommit } from "../../ledger/fast-commit.ts";
import type { RecordItem } from "../../ledger/ledger-calls.ts";
import type { RecordResult } from "../../ledger/record-call.ts";
import { stepCall } from "../../ledger/record-call.ts";
import { encodeEntries } from "../../ledger/record-log.ts";
import { ABSENT } from "../../ledger/record-state.ts";
import type { LedgerInstant } from "../../ledger/store-time.ts";
import type { KeyedRecord, LedgerTables } from "./record-rows.ts";
import { commitClaims, insertRecords, objectName, selectObjects } from "./record-rows.ts";
import { lostTransaction } from "./sql/sql-state.ts";
import { ownLockLimit } from "./time-limits.ts";

/** Results in the order of `items`; null where the slow path must decide. */
export async function runFastBatch(
  tables: LedgerTables,
  scopeId: number,
  items: readonly RecordItem[],
  at: LedgerInstant,
): Promise<(RecordResult | null)[]> {
  try {
    switch (items[0]?.call.call) {
      case "claim":
      case "commit-direct":
        return await insertAbsent(tables, scopeId, items, at);
      case "commit":
        return await commitHeld(tables, scopeId, items, at);
      default:
        return items.map(() => null);
    }
  } catch (error) {
    // The server chooses the order in which one statement locks its rows, so two batches that share
    // keys may deadlock. The loser has written nothing and takes the slow path, which locks in
    // order.
    if (lostTransaction(error)) return items.map(() => null);
    throw error;
  }
}

async function insertAbsent(
  { pool, retentionMs }: LedgerTables,
  scopeId: number,
  items: readonly RecordItem[],
  at: LedgerInstant,
): Promise<(RecordResult | null)[]> {
  const refs = items.flatMap(({ object }) => (object === null ? [] : [object]));
  // Read without a lock: an object only advances, and every commit checks it again.
  const objects = await selectObjects(pool, scopeId, refs, { lock: false });
  const rows: KeyedRecord[] = [];
  const steps = items.map(({ key, object: ref, writes, note, call }) => {
    const object = ref === null ? null : (objects.get(objectName(ref)) ?? null);
    const absent = { key, record: ABSENT, storedInput: null };
    const step = stepCall({ ...absent, object, ref, ...at, retentionMs }, call);
    // Every rejection, and every change beyond the record itself, takes the slow path.
    const more = step.object !== null || writes.length > 0 || note !== null;
    const { record, input } = step;
    if (record === null || input === null || more) return null;
    rows.push({ key, record, input, log: encodeEntries(step.entries) });
    return step;
  });
  const inserted = await insertRecords(pool, scopeId, rows, ownLockLimit(pool));
  return items.map(({ key }, nth) => (inserted.has(key) ? (steps[nth]?.result ?? null) : null));
}

async function commitHeld(
  { pool, retentionMs }: LedgerTables,
  scopeId: number,
  items: readonly RecordItem[],
  at: LedgerInstant,
): Promise<(RecordResult | null)[]> {
  const commits: FastCommit[] = [];
  for (const item of items) {
    const commit = fastCommit(item, at.now);
    if (commit !== null) commits.push(commit);
  }
  const expiresAt = addMs(at.now, retentionMs);
  const done = await commitClaims(pool, scopeId, commits, { ...at, expiresAt });
  return items.map(({ key }) => (done.has(key) ? { kind: "committed" } : null));
}
