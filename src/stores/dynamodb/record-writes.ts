// Record writes: one record's call, as few and as cheap requests as its case allows.
//   W1. A new record is one conditional put, a held claim's commit one conditional update: one
//       write unit each, and no read. A refusal brings the item along, so it is not read either.
//   W2. Everything else reads consistently, asks the law, and writes on the condition that the
//       items are those the law was told of; losing that race starts over with what won.
//   W3. Only a change of a record together with its object or a note is a transaction, which costs
//       twice.
//   W4. What the law is told of an object was read after what it is told of the record. The other
//       way round a commit in between would show as a record that is done and an object that is
//       not, which the law takes for a state that came back: work to be done again.
//   W5. A refusal that goes by both of them holds for one moment at which both were so: nothing is
//       written then that would prove it. Either the object was the same before and after the
//       record was looked at, which costs nothing as it is read anyway, or the record still is.
//   W6. A write whose outcome was not learned is known by its name wherever it is met (I2).

import type { DynamoDBClient, Put } from "@aws-sdk/client-dynamodb";
import {
  GetItemCommand,
  PutItemCommand,
  TransactWriteItemsCommand,
  UpdateItemCommand,
} from "@aws-sdk/client-dynamodb";
import { TidegateError } from "../../core/errors.ts";
import type { DurationMs, EpochMs } from "../../core/units.ts";
import { addMs } from "../../core/units.ts";
import { fastCommit } from "../../ledger/fast-commit.ts";
import type { RecordItem } from "../../ledger/ledger-calls.ts";
import { mergeNote } from "../../ledger/notes.ts";
import type { RecordResult } from "../../ledger/record-call.ts";
import { stepCall } from "../../ledger/record-call.ts";
import { grownLog } from "../../ledger/record-log.ts";
import { ABSENT } from "../../ledger/record-state.ts";
import type { Transition } from "../../ledger/record-transitions.ts";
import type { NoteInput } from "../../ports/ledger.ts";
import type { LedgerScope } from "../../ports/record.ts";
import type { DynamoItem } from "./faults.ts";
import { conflictsIn } from "./faults.ts";
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

/** Each further try needs another process to have written the same item meanwhile. */
const TRIES_MAX = 16;

export interface LedgerTable {
  readonly client: DynamoDBClient;
  readonly table: string;
  readonly retentionMs: DurationMs;
  /** A name for a write that no other write has (I2). */
  nextWrite(): string;
}

interface Sight {
  readonly item: DynamoItem | undefined;
}

/** Items as last seen; undefined where they have to be read. */
interface Seen {
  record?: Sight | undefined;
  /** As it was before the record was looked at (W5). */
  objectBefore?: Sight | undefined;
  object?: Sight | undefined;
  note?: Sight | undefined;
  /** The last write, which was refused or may have been (W6). */
  tried?: { readonly by: string; readonly result: RecordResult };
}

/** Takes note of the record as it is now; its object has to be looked at after it (W4). */
function seeRecord(seen: Seen, item: DynamoItem | undefined): void {
  seen.record = { item };
  seen.objectBefore = seen.object;
  seen.object = undefined;
}

export async function getItem(
  { client, table }: Pick<LedgerTable, "client" | "table">,
  pk: string,
): Promise<DynamoItem | undefined> {
  const Key = { pk: { S: pk } };
  const command = new GetItemCommand({ TableName: table, Key, ConsistentRead: true });
  return (await client.send(command)).Item;
}

/** Decides one record by the law and saves it. */
export async function runRecord(
  table: LedgerTable,
  scope: LedgerScope,
  item: RecordItem,
  now: EpochMs,
): Promise<RecordResult> {
  const seen: Seen = {};
  const { call } = item;
  const done = await commitClaim(table, scope, item, now, seen);
  if (done !== null) return done;
  // A new record is most likely absent: the put itself will tell (W1).
  if (call.call === "claim" || call.call === "commit-direct") seen.record = { item: undefined };
  for (let tries = 0; tries < TRIES_MAX; tries += 1) {
    const result = await tryRecord(table, scope, item, now, seen);
    if (result !== "again") return result;
  }
  const message = `a record lost ${TRIES_MAX} races for its item`;
  throw new TidegateError("TG_LEDGER_UNAVAILABLE", message);
}

async function tryRecord(
  table: LedgerTable,
  scope: LedgerScope,
  item: RecordItem,
  now: EpochMs,
  seen: Seen,
): Promise<RecordResult | "again"> {
  const { key, object: ref, note, call } = item;
  const pk = recordPk(scope, key);
  const objectKey = ref === null ? null : objectPk(scope, ref);
  if (seen.record === undefined) seeRecord(seen, await getItem(table, pk));
  if (objectKey !== null) seen.object ??= { item: await getItem(table, objectKey) };
  const { record, log, by: former } = fromRecordItem(seen.record?.item);
  const stored = fromObjectItem(seen.object?.item);
  const { tried } = seen;
  const isOurs = tried !== undefined && (former === tried.by || stored.by === tried.by);
  if (isOurs) return tried.result; // W6
  const { retentionMs } = table;
  const sequencer = ref?.sequencer ?? null;
  const input = { key, record, object: stored.object, sequencer, now, retentionMs };
  const step = stepCall(input, call);
  const agrees = ref === null || call.call === "commit" || sameItem(seen.objectBefore, seen.object);
  if (step.record === null && !agrees) {
    // No put is due that would prove the record to be so, be it seen or guessed: look at it (W5).
    const item = await getItem(table, pk);
    if (fromRecordItem(item).by !== former) {
      seeRecord(seen, item);
      return "again";
    }
  }
  const by = table.nextWrite();
  const puts: Put[] = [];
  if (step.record !== null) {
    const grown = grownLog({ record, log }, step.entries, now);
    puts.push(putIf(table, toRecordItem(pk, step.record, grown, by), former));
    if (note !== null) puts.push(await notePut(table, scope, note, { now, by, seen }));
  }
  if (step.object !== null && objectKey !== null) {
    puts.push(putIf(table, toObjectItem(objectKey, step.object, by), stored.by));
  }
  return await write(table, puts, { step, by, seen });
}

/** What writes a note with its record: the law was told of it, so nobody may have changed it. */
async function notePut(
  table: LedgerTable,
  scope: LedgerScope,
  note: NoteInput,
  { now, by, seen }: { readonly now: EpochMs; readonly by: string; readonly seen: Seen },
): Promise<Put> {
  const { kind, name } = note;
  seen.note ??= { item: await getItem(table, notePk(scope, kind, name)) };
  const { note: stored, by: former } = fromNoteItem(kind, seen.note.item);
  const { retentionMs } = table;
  const merged = mergeNote(stored, note, { now, retentionMs });
  return putIf(table, toNoteItem(scope, merged, by), former);
}

/** Whether an object was the same at two looks at it (I1). */
function sameItem(one: Sight | undefined, other: Sight | undefined): boolean {
  return one !== undefined && fromObjectItem(one.item).by === fromObjectItem(other?.item).by;
}

/** A put on the condition that the item is still that write's (I1); null means absent. */
export function putIf({ table }: LedgerTable, Item: DynamoItem, former: string | null): Put {
  return {
    TableName: table,
    Item,
    ...(former === null
      ? { ConditionExpression: "attribute_not_exists(pk)" }
      : {
          ConditionExpression: "#by = :former",
          ExpressionAttributeNames: { "#by": "by" },
          ExpressionAttributeValues: { ":former": { S: former } },
        }),
    ReturnValuesOnConditionCheckFailure: "ALL_OLD",
  };
}

interface Attempt {
  readonly step: Transition<RecordResult>;
  readonly by: string;
  readonly seen: Seen;
}

async function write(
  { client }: LedgerTable,
  puts: readonly Put[],
  { step, by, seen }: Attempt,
): Promise<RecordResult | "again"> {
  const [only, second] = puts;
  if (only === undefined) return step.result;
  try {
    if (second === undefined) await client.send(new PutItemCommand(only));
    else {
      const TransactItems = puts.map((Put) => ({ Put }));
      await client.send(new TransactWriteItemsCommand({ TransactItems })); // W3
    }
    return step.result;
  } catch (error) {
    const conflicts = conflictsIn(error);
    if (conflicts === null) throw error;
    if (conflicts.some(({ item }) => item?.by?.S === by)) return step.result; // I2
    seen.tried = { by, result: step.result };
    seen.note = undefined;
    const found = step.record === null ? undefined : conflicts[0]?.item;
    if (found !== undefined) seeRecord(seen, found);
    else seen.record = undefined;
    return "again";
  }
}

/** The shortcut for a plain commit (W1); null leaves it to the law. */
async function commitClaim(
  table: LedgerTable,
  scope: LedgerScope,
  item: RecordItem,
  now: EpochMs,
  seen: Seen,
): Promise<RecordResult | null> {
  const commit = fastCommit(item, now);
  if (commit === null) return null;
  const { key, fence, digest, detail, added } = commit;
  const by = table.nextWrite();
  const expiresAt = addMs(now, table.retentionMs);
  const command = new UpdateItemCommand({
    TableName: table.table,
    Key: { pk: { S: recordPk(scope, key) } },
    ConditionExpression: "st = :claimed AND fence = :fence AND exp > :now",
    UpdateExpression: `SET st = :committed, chg = :now, exp = :exp, #ttl = :ttl, lease = :zero,
      dig = :dig, #log = list_append(#log, :added), #by = :by
      ${detail === null ? "" : ", det = :det"}
      REMOVE #owner`,
    ExpressionAttributeNames: { "#ttl": "ttl", "#by": "by", "#owner": "owner", "#log": "log" },
    ExpressionAttributeValues: {
      ":claimed": { S: "claimed" },
      ":committed": { S: "committed" },
      ":fence": { N: String(fence) },
      ":now": { N: String(now) },
      ":exp": { N: String(expiresAt) },
      ":ttl": ttlOf(expiresAt),
      ":zero": { N: "0" },
      ":dig": { S: digest },
      ":added": { L: [{ S: added }] },
      ":by": { S: by },
      ...(detail === null ? {} : { ":det": { S: detail } }),
    },
    ReturnValuesOnConditionCheckFailure: "ALL_OLD",
  });
  try {
    await table.client.send(command);
    return { kind: "committed" };
  } catch (error) {
    const conflict = conflictsIn(error)?.[0];
    if (conflict === undefined) throw error;
    // The law answers a refused commit without writing, so an absent item is final, too.
    if (conflict.known && conflict.item === undefined) {
      const { retentionMs } = table;
      const input = { key, record: ABSENT, object: null, sequencer: null, now, retentionMs };
      return stepCall(input, item.call).result;
    }
    if (conflict.known) seeRecord(seen, conflict.item);
    return null;
  }
}
