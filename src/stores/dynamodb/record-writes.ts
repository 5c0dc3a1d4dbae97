// Record writes: one call on one record, with as few and as cheap requests as its case allows.
//   W1. A new record is one conditional put, and the commit of a held claim is one conditional
//       update: one write unit each, and no read. A failed condition returns the item, so it is not
//       read either.
//   W2. Everything else reads consistently, runs the transition, and writes on condition that the
//       items are those the transition was given. A lost race starts over with the winner's items.
//   W3. Only a change of a record together with its object or a note is a transaction, which costs
//       twice as much.
//   W4. The transition's object was read after its record. In the other order, a commit in between
//       would show a finished record and an unfinished object. The transition would take that for a
//       state that came back: work to be done again.
//   W5. A rejection that depends on both items needs one moment at which both were so, because no
//       write proves it. Either the object was the same before and after the record was read, which
//       costs nothing as it is read anyway, or the record still is. An answer that depends on an
//       item that it does not write, beside one that it writes, has a check of that item in its
//       transaction: a claim that asks to confirm, and a stale event that its object absorbs.
//   W6. A write with an unknown outcome is recognised by its write id wherever it is met (I2).

import type { ConditionCheck, DynamoDBClient, Put } from "@aws-sdk/client-dynamodb";
import {
  GetItemCommand,
  PutItemCommand,
  TransactWriteItemsCommand,
  UpdateItemCommand,
} from "@aws-sdk/client-dynamodb";
import type { DurationMs } from "../../core/units.ts";
import { addMs } from "../../core/units.ts";
import { fastCommit } from "../../ledger/fast-commit.ts";
import type { RecordItem } from "../../ledger/ledger-calls.ts";
import { mergeNote } from "../../ledger/notes.ts";
import type { RecordResult } from "../../ledger/record-call.ts";
import { addsNote, stepCall } from "../../ledger/record-call.ts";
import { grownLog } from "../../ledger/record-log.ts";
import { ABSENT } from "../../ledger/record-state.ts";
import type { Transition } from "../../ledger/start-attempt.ts";
import type { LedgerInstant } from "../../ledger/store-time.ts";
import type { NoteInput } from "../../ports/ledger.ts";
import type { LedgerScope } from "../../ports/record.ts";
import { type ContendedWrite, untilWritten, WRITE_LOST } from "./contention.ts";
import type { DynamoItem } from "./faults.ts";
import { conflictsIn } from "./faults.ts";
import { listAttributes, timeSort } from "./list-items.ts";
import { fromNoteItem, notePk, toNoteItem } from "./note-items.ts";
import {
  fromObjectItem,
  fromRecordItem,
  objectPk,
  recordPk,
  toObjectItem,
  toRecordItem,
  ttlOf,
} from "./record-items.ts";

const CONTENDED: ContendedWrite = {
  what: "record",
  unavailable: "TG_LEDGER_BUSY",
  triesMax: 16,
};

export interface LedgerTable {
  readonly client: DynamoDBClient;
  readonly table: string;
  readonly retentionMs: DurationMs;
  /** Whether the table keeps lists (M2 of schema.ts). */
  readonly listing: boolean;
  /** A write id that no other write has (I2). */
  nextWrite(): string;
}

interface ReadItem {
  readonly item: DynamoItem | undefined;
}

/** Items as last read; undefined where they must be read. */
interface ReadItems {
  record?: ReadItem | undefined;
  /** The object before the record was read (W5). */
  objectBefore?: ReadItem | undefined;
  object?: ReadItem | undefined;
  note?: ReadItem | undefined;
  /** The last write, which lost or whose outcome is unknown (W6). */
  lastWrite?: { readonly by: string; readonly result: RecordResult };
}

/** Remembers the record as it is now; its object must be read after it (W4). */
function rememberRecord(read: ReadItems, item: DynamoItem | undefined): void {
  read.record = { item };
  read.objectBefore = read.object;
  read.object = undefined;
}

export async function getItem(
  { client, table }: Pick<LedgerTable, "client" | "table">,
  pk: string,
): Promise<DynamoItem | undefined> {
  const Key = { pk: { S: pk } };
  const command = new GetItemCommand({ TableName: table, Key, ConsistentRead: true });
  return (await client.send(command)).Item;
}

/** Runs one call on one record and saves the result. */
export async function runRecord(
  table: LedgerTable,
  scope: LedgerScope,
  item: RecordItem,
  at: LedgerInstant,
): Promise<RecordResult> {
  const read: ReadItems = {};
  const { call } = item;
  const done = await commitClaim(table, scope, item, at, read);
  if (done !== null) return done;
  // A new record is most likely absent: the put itself will show (W1).
  if (call.call === "claim" || call.call === "commit-direct") read.record = { item: undefined };
  return await untilWritten(CONTENDED, async () => {
    const result = await tryRecord(table, scope, item, at, read);
    return result === "lost" ? WRITE_LOST : { kind: "done", value: result };
  });
}

async function tryRecord(
  table: LedgerTable,
  scope: LedgerScope,
  item: RecordItem,
  at: LedgerInstant,
  read: ReadItems,
): Promise<RecordResult | "lost"> {
  const { key, object: ref, note, call } = item;
  const pk = recordPk(scope, key);
  const objectKey = ref === null ? null : objectPk(scope, ref);
  if (read.record === undefined) rememberRecord(read, await getItem(table, pk));
  if (objectKey !== null) read.object ??= { item: await getItem(table, objectKey) };
  const { record, input: storedInput, log, by: previous } = fromRecordItem(read.record?.item);
  const stored = fromObjectItem(read.object?.item);
  const { lastWrite } = read;
  const isOurs =
    lastWrite !== undefined && (previous === lastWrite.by || stored.by === lastWrite.by);
  if (isOurs) return lastWrite.result; // W6
  const { retentionMs } = table;
  const { object } = stored;
  const step = stepCall({ key, record, storedInput, object, ref, ...at, retentionMs }, call);
  const isProved = call.call === "commit" && step.result.kind !== "unconfirmed";
  const agrees = ref === null || isProved || sameItem(read.objectBefore, read.object);
  if (step.record === null && step.object === null && !agrees) {
    // No write follows that would prove the record, read or guessed: read it (W5).
    const item = await getItem(table, pk);
    if (fromRecordItem(item).by !== previous) {
      rememberRecord(read, item);
      return "lost";
    }
  }
  const by = table.nextWrite();
  const puts: Put[] = [];
  if (step.record !== null && step.input !== null) {
    const grown = grownLog({ record, log }, step.entries, at.expiry);
    const saved = { record: step.record, input: step.input, log: grown };
    const lists = table.listing ? listAttributes(scope, key, saved) : {};
    puts.push(putIf(table, { ...toRecordItem(pk, saved, by), ...lists }, previous));
    if (note !== null && addsNote(step)) {
      puts.push(await notePut(table, scope, note, { at, by, read }));
    }
  }
  if (step.object !== null && objectKey !== null) {
    puts.push(putIf(table, toObjectItem(objectKey, step.object, by), stored.by));
  }
  const checks: ConditionCheck[] = [];
  if (step.record === null && puts.length > 0) checks.push(unchanged(table, pk, previous)); // W5
  if ("confirm" in step.result && objectKey !== null) {
    checks.push(unchanged(table, objectKey, stored.by)); // W5
  }
  return await write(table, puts, checks, { step, by, read });
}

/** The put of a note with its record, on condition that the note is unchanged since it was read. */
async function notePut(
  table: LedgerTable,
  scope: LedgerScope,
  note: NoteInput,
  { at, by, read }: { readonly at: LedgerInstant; readonly by: string; readonly read: ReadItems },
): Promise<Put> {
  const { kind, name } = note;
  read.note ??= { item: await getItem(table, notePk(scope, kind, name)) };
  const { note: stored, by: previous } = fromNoteItem(kind, read.note.item);
  const { retentionMs } = table;
  const merged = mergeNote(stored, note, { ...at, retentionMs });
  return putIf(table, toNoteItem(scope, merged, by), previous);
}

/** Whether an object was the same in two reads (I1). */
function sameItem(one: ReadItem | undefined, other: ReadItem | undefined): boolean {
  return one !== undefined && fromObjectItem(one.item).by === fromObjectItem(other?.item).by;
}

/** A put on condition that the item still has that write id (I1); null means absent. */
export function putIf({ table }: LedgerTable, Item: DynamoItem, previous: string | null): Put {
  return { TableName: table, Item, ...ifStill(previous) };
}

/** The same condition on an item that is not written. */
function unchanged({ table }: LedgerTable, pk: string, previous: string | null): ConditionCheck {
  return { TableName: table, Key: { pk: { S: pk } }, ...ifStill(previous) };
}

function ifStill(previous: string | null) {
  return {
    ...(previous === null
      ? { ConditionExpression: "attribute_not_exists(pk)" }
      : {
          ConditionExpression: "#by = :previous",
          ExpressionAttributeNames: { "#by": "by" },
          ExpressionAttributeValues: { ":previous": { S: previous } },
        }),
    ReturnValuesOnConditionCheckFailure: "ALL_OLD" as const,
  };
}

interface Attempt {
  readonly step: Transition<RecordResult>;
  readonly by: string;
  readonly read: ReadItems;
}

async function write(
  { client }: LedgerTable,
  puts: readonly Put[],
  checks: readonly ConditionCheck[],
  { step, by, read }: Attempt,
): Promise<RecordResult | "lost"> {
  const [only] = puts;
  if (only === undefined) return step.result;
  try {
    if (puts.length + checks.length === 1) await client.send(new PutItemCommand(only));
    else {
      const TransactItems = [
        ...puts.map((Put) => ({ Put })),
        ...checks.map((ConditionCheck) => ({ ConditionCheck })),
      ];
      await client.send(new TransactWriteItemsCommand({ TransactItems })); // W3
    }
    return step.result;
  } catch (error) {
    const conflicts = conflictsIn(error);
    if (conflicts === null) throw error;
    if (conflicts.some(({ item }) => item?.by?.S === by)) return step.result; // I2
    read.lastWrite = { by, result: step.result };
    read.note = undefined;
    const winner = step.record === null ? undefined : conflicts[0]?.item;
    if (winner !== undefined) rememberRecord(read, winner);
    else read.record = undefined;
    return "lost";
  }
}

/** The fast path for a commit without object or note (W1); null means: take the slow path. */
async function commitClaim(
  table: LedgerTable,
  scope: LedgerScope,
  item: RecordItem,
  at: LedgerInstant,
  read: ReadItems,
): Promise<RecordResult | null> {
  const commit = fastCommit(item, at.now);
  if (commit === null) return null;
  const { key, fence, digest, detail, added } = commit;
  const by = table.nextWrite();
  const expiresAt = addMs(at.now, table.retentionMs);
  const command = new UpdateItemCommand({
    TableName: table.table,
    Key: { pk: { S: recordPk(scope, key) } },
    ConditionExpression: "st = :claimed AND fence = :fence AND exp > :expiry",
    UpdateExpression: `SET st = :committed, chg = :now, exp = :exp, #ttl = :ttl, lease = :zero,
      dig = :dig, #log = list_append(#log, :added), #by = :by
      ${detail === null ? "" : ", det = :det"} ${table.listing ? ", lco = :lco" : ""}
      REMOVE #owner`,
    ExpressionAttributeNames: { "#ttl": "ttl", "#by": "by", "#owner": "owner", "#log": "log" },
    ExpressionAttributeValues: {
      ":claimed": { S: "claimed" },
      ":committed": { S: "committed" },
      ":fence": { N: String(fence) },
      ":now": { N: String(at.now) },
      ":expiry": { N: String(at.expiry) },
      ":exp": { N: String(expiresAt) },
      ":ttl": ttlOf(expiresAt),
      ":zero": { N: "0" },
      ":dig": { S: digest },
      ":added": { L: [{ S: added }] },
      ":by": { S: by },
      ...(detail === null ? {} : { ":det": { S: detail } }),
      ...(table.listing ? { ":lco": { S: timeSort({ at: at.now, key }) } } : {}),
    },
    ReturnValuesOnConditionCheckFailure: "ALL_OLD",
  });
  try {
    await table.client.send(command);
    return { kind: "committed" };
  } catch (error) {
    const conflict = conflictsIn(error)?.[0];
    if (conflict === undefined) throw error;
    // The transition rejects this commit without writing, so an absent item is final as well.
    if (conflict.returned && conflict.item === undefined) {
      const { retentionMs } = table;
      const absent = { key, record: ABSENT, storedInput: null, object: null, ref: null };
      return stepCall({ ...absent, ...at, retentionMs }, item.call).result;
    }
    if (conflict.returned) rememberRecord(read, conflict.item);
    return null;
  }
}
