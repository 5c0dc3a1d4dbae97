// Locked batch: the slow path of a batch (P1, P2): lock, run the transitions, write, in one
// transaction.

import type { PoolClient } from "pg";
import { present } from "../../core/assert.ts";
import type { RecordItem } from "../../ledger/ledger-calls.ts";
import type { RecordResult } from "../../ledger/record-call.ts";
import { addsNote, stepCall } from "../../ledger/record-call.ts";
import { grownLog } from "../../ledger/record-log.ts";
import { ABSENT } from "../../ledger/record-state.ts";
import type { LedgerInstant } from "../../ledger/store-time.ts";
import type { NoteInput } from "../../ports/ledger.ts";
import type { Fence, ObjectState, RecordKey } from "../../ports/record.ts";
import { postgresSinkFault } from "./faults.ts";
import { addNotes } from "./note-rows.ts";
import type { KeyedObject, KeyedRecord, LedgerTables } from "./record-rows.ts";
import {
  insertRecords,
  objectName,
  saveObjects,
  selectObjects,
  selectRecords,
  updateRecords,
} from "./record-rows.ts";
import { runPostgresWrites } from "./sql/sink-writes.ts";
import type { SqlLimits } from "./sql/sql-limits.ts";
import { LIMITED_BY_BEGIN, limitsOf } from "./time-limits.ts";
import { CONFLICT, inPostgresTransaction, type OrConflict } from "./transaction.ts";

/** Results in the order of `items`. No two items share a key, an object or a note. */
export function runLocked(
  tables: LedgerTables,
  scopeId: number,
  items: readonly RecordItem[],
  at: LedgerInstant,
  limits: SqlLimits = limitsOf(tables.pool),
): Promise<RecordResult[]> {
  const work = (client: PoolClient) => decide(client, tables, scopeId, items, at);
  return inPostgresTransaction(tables.pool, "batch", work, limits);
}

async function decide(
  client: PoolClient,
  { retentionMs, statementName }: LedgerTables,
  scopeId: number,
  items: readonly RecordItem[],
  at: LedgerInstant,
): Promise<OrConflict<RecordResult[]>> {
  const keys = items.map(({ key }) => key);
  const records = await selectRecords(client, scopeId, keys, { lock: true });
  const refs = items.flatMap(({ object }) => (object === null ? [] : [object]));
  const objects = await selectObjects(client, scopeId, refs, { lock: true });
  const fresh: KeyedRecord[] = [];
  const changed: KeyedRecord[] = [];
  const applied: KeyedObject[] = [];
  const notes: NoteInput[] = [];
  const committed: { item: RecordItem; fence: Fence }[] = [];
  const unproved: RecordKey[] = [];
  const results = items.map((item): RecordResult => {
    const { key, object: ref, note, call } = item;
    const stored = records.get(key);
    const object: ObjectState | null = (ref && objects.get(objectName(ref))) ?? null;
    const record = stored?.record ?? ABSENT;
    const storedInput = stored?.input ?? null;
    const from = { key, record, storedInput, object, ref, ...at, retentionMs };
    const step = stepCall(from, call);
    if (step.record !== null && step.input !== null) {
      const log = grownLog(stored, step.entries, at.expiry);
      const row = { key, record: step.record, input: step.input, log };
      (stored === undefined ? fresh : changed).push(row);
      if (note !== null && addsNote(step)) notes.push(note);
      if (step.result.kind === "committed") committed.push({ item, fence: step.record.fence });
    }
    if (stored === undefined && step.result.kind === "stale") unproved.push(key);
    if (step.object !== null) applied.push({ ref: present(ref, "object"), object: step.object });
    return step.result;
  });
  if (await anyExists(client, scopeId, unproved)) return CONFLICT; // P2
  const inserted = await insertRecords(client, scopeId, fresh, LIMITED_BY_BEGIN);
  if (inserted.size < fresh.length) return CONFLICT; // P2
  await updateRecords(client, scopeId, changed);
  if (!(await saveObjects(client, scopeId, applied, objects))) return CONFLICT; // P2
  await addNotes(client, scopeId, notes, { ...at, retentionMs, limit: LIMITED_BY_BEGIN });
  for (const one of committed) await runWrites(client, statementName, one);
  return results;
}

/**
 * Whether one of the records exists now, although it did not before its object was locked. Then its
 * own commit may have made it look stale, and no insert follows that would notice.
 */
async function anyExists(
  client: PoolClient,
  scopeId: number,
  keys: readonly RecordKey[],
): Promise<boolean> {
  if (keys.length === 0) return false;
  return (await selectRecords(client, scopeId, keys, { lock: false })).size > 0;
}

async function runWrites(
  client: PoolClient,
  nameOf: LedgerTables["statementName"],
  { item, fence }: { readonly item: RecordItem; readonly fence: Fence },
): Promise<void> {
  try {
    await runPostgresWrites(client, item.writes, fence, nameOf);
  } catch (error) {
    throw postgresSinkFault(error);
  }
}
