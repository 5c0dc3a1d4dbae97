// Locked batch: the long way of a batch (P1, P2): lock, ask the law, write, in one transaction.

import type { PoolClient } from "pg";
import { present } from "../../core/assert.ts";
import { TidegateError } from "../../core/errors.ts";
import type { RecordItem } from "../../core/ledger-calls.ts";
import { type NoteInput, sinkParams } from "../../core/ledger-requests.ts";
import type { RecordResult } from "../../core/record-call.ts";
import { stepCall } from "../../core/record-call.ts";
import { appendToLog, encodeEntries } from "../../core/record-log.ts";
import type { Fence, ObjectState } from "../../core/record-state.ts";
import { ABSENT, liveRecord } from "../../core/record-state.ts";
import type { EpochMs } from "../../core/units.ts";
import { isRetryable, sinkFault } from "./faults.ts";
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

/** Each further try needs another process to have won a race for the same rows meanwhile. */
const TRIES_MAX = 16;
/** Statements of sinks that stay prepared, on each connection. */
const SINK_STATEMENTS_MAX = 256;

/** Results in the order of `items`, none of which share a key, an object or a note. */
export async function runLocked(
  tables: LedgerTables,
  scopeId: number,
  items: readonly RecordItem[],
  now: EpochMs,
): Promise<RecordResult[]> {
  for (let tries = 0; tries < TRIES_MAX; tries += 1) {
    const results = await tryLocked(tables, scopeId, items, now);
    if (results !== "again") return results;
  }
  const message = `a batch lost ${TRIES_MAX} races for its rows`;
  throw new TidegateError("TG_LEDGER_UNAVAILABLE", message);
}

async function tryLocked(
  tables: LedgerTables,
  scopeId: number,
  items: readonly RecordItem[],
  now: EpochMs,
): Promise<RecordResult[] | "again"> {
  const client = await tables.pool.connect();
  try {
    await client.query("BEGIN");
    const results = await decide(client, tables, scopeId, items, now);
    await client.query(results === "again" ? "ROLLBACK" : "COMMIT");
    client.release();
    return results;
  } catch (error) {
    client.release(true); // Closing the connection rolls back, whatever state it was left in.
    if (isRetryable(error)) return "again";
    throw error;
  }
}

async function decide(
  client: PoolClient,
  { retentionMs, sinkStatements }: LedgerTables,
  scopeId: number,
  items: readonly RecordItem[],
  now: EpochMs,
): Promise<RecordResult[] | "again"> {
  const keys = items.map(({ key }) => key);
  const records = await selectRecords(client, scopeId, keys, { lock: true });
  const refs = items.flatMap(({ object }) => (object === null ? [] : [object]));
  const objects = await selectObjects(client, scopeId, refs, { lock: true });
  const fresh: KeyedRecord[] = [];
  const changed: KeyedRecord[] = [];
  const applied: KeyedObject[] = [];
  const notes: NoteInput[] = [];
  const committed: { item: RecordItem; fence: Fence }[] = [];
  const results = items.map((item): RecordResult => {
    const { key, object: ref, note, call } = item;
    const found = records.get(key);
    const object: ObjectState | null = (ref && objects.get(objectName(ref))) ?? null;
    const record = found?.record ?? ABSENT;
    const sequencer = ref?.sequencer ?? null;
    const step = stepCall({ key, record, object, sequencer, now, retentionMs }, call);
    if (step.record !== null) {
      const added = encodeEntries(step.entries);
      const former = found && liveRecord(found.record, now) === found.record ? found.log : "";
      const row = { key, record: step.record, log: appendToLog(former, added) };
      (found === undefined ? fresh : changed).push(row);
      if (note !== null) notes.push(note);
      if (step.result.kind === "committed") committed.push({ item, fence: step.record.fence });
    }
    if (step.object !== null) applied.push({ ref: present(ref, "object"), object: step.object });
    return step.result;
  });
  if ((await insertRecords(client, scopeId, fresh)).size < fresh.length) return "again"; // P2
  await updateRecords(client, scopeId, changed);
  if (!(await saveObjects(client, scopeId, applied, objects))) return "again"; // P2
  await addNotes(client, scopeId, notes, { now, retentionMs });
  for (const one of committed) await runWrites(client, sinkStatements, one);
  return results;
}

async function runWrites(
  client: PoolClient,
  names: Map<string, string>,
  { item, fence }: { readonly item: RecordItem; readonly fence: Fence },
): Promise<void> {
  for (const write of item.writes) {
    const { statement: text } = write;
    const name = statementName(names, text);
    try {
      await client.query({ name, text, values: sinkParams(write, fence) });
    } catch (error) {
      throw sinkFault(error);
    }
  }
}

/** Named statements stay prepared on their connection; beyond the limit they are not named. */
function statementName(names: Map<string, string>, text: string): string | undefined {
  const known = names.get(text);
  if (known !== undefined || names.size >= SINK_STATEMENTS_MAX) return known;
  const name = `tidegate_sink_${names.size + 1}`;
  names.set(text, name);
  return name;
}
