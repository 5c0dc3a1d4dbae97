// Note writes: the rule of ledger/notes.ts as conditional requests.
//   O1. Adding is one update that increments the count and replaces instant and body, on condition
//       that the existing note is not newer. A failed condition returns the item, which decides the
//       next request: only increment, or start over from an expired note. No read, and no lost
//       count.
//   O2. A request that the SDK repeats after a lost response finds its own write id (I2) and is not
//       counted again, unless another writer added to the note in between.
//   O3. Lists come from the index, which may lag. Bodies and expiry are read from the items
//       themselves, consistently.

import {
  DeleteItemCommand,
  PutItemCommand,
  paginateQuery,
  UpdateItemCommand,
  type UpdateItemCommandInput,
} from "@aws-sdk/client-dynamodb";
import { present } from "../../core/assert.ts";
import type { EpochMs } from "../../core/units.ts";
import type { NoteStore } from "../../ledger/note-calls.ts";
import { liveNote, mergeNote, noteExpiry, type StoredNote } from "../../ledger/notes.ts";
import type { LedgerInstant, LedgerTime } from "../../ledger/store-time.ts";
import type { NoteInput, NoteKind, NotePage } from "../../ports/ledger.ts";
import type { LedgerScope } from "../../ports/record.ts";
import { type ContendedWrite, untilWritten, WRITE_LOST } from "./contention.ts";
import { conflictsIn, type DynamoItem } from "./faults.ts";
import { BATCH_GET_MAX, getItems } from "./get-items.ts";
import { inParallel } from "./in-parallel.ts";
import { NOTE_INDEX } from "./ledger-table.ts";
import { fromNoteItem, notePartition, notePk, toNoteItem } from "./note-items.ts";
import { ttlOf } from "./record-items.ts";
import { getItem, type LedgerTable, putIf } from "./record-writes.ts";

const CONTENDED: ContendedWrite = {
  what: "note",
  unavailable: "TG_LEDGER_BUSY",
  triesMax: 32,
};
const WRITTEN = { kind: "done", value: undefined } as const;

interface Adding {
  readonly scope: LedgerScope;
  readonly note: NoteInput;
  readonly instant: LedgerInstant;
  readonly by: string;
}

async function addNote(table: LedgerTable, adding: Adding): Promise<void> {
  let existing: DynamoItem | undefined;
  await untilWritten(CONTENDED, async () => {
    try {
      await sendAddition(table, adding, existing);
      return WRITTEN;
    } catch (error) {
      const conflict = conflictsIn(error)?.[0];
      if (conflict === undefined) throw error;
      if (conflict.item?.by?.S === adding.by) return WRITTEN; // O2
      existing = conflict.item;
      return WRITE_LOST;
    }
  });
}

/** The request for an item that is still as it was last read (O1). */
async function sendAddition(
  table: LedgerTable,
  adding: Adding,
  existing: DynamoItem | undefined,
): Promise<void> {
  const { scope, note, instant, by } = adding;
  const { note: stored, by: previous } = fromNoteItem(note.kind, existing);
  const live = liveNote(stored, instant.expiry);
  if (stored !== null && live === null) {
    const { retentionMs } = table;
    const fresh = mergeNote(null, note, { ...instant, retentionMs });
    const row = toNoteItem(scope, fresh, by);
    await table.client.send(new PutItemCommand(putIf(table, row, previous)));
    return;
  }
  const replaces = live === null || live.at <= note.at;
  await table.client.send(new UpdateItemCommand(additionOf(table, adding, replaces)));
}

function additionOf(
  { table, retentionMs }: LedgerTable,
  { scope, note, instant, by }: Adding,
  replaces: boolean,
): UpdateItemCommandInput {
  const { kind, name, at, count, body } = note;
  const expiresAt = noteExpiry(kind, { now: instant.now, retentionMs });
  const live = "exp > :expiry AND #by <> :by AND nat";
  return {
    TableName: table,
    Key: { pk: { S: notePk(scope, kind, name) } },
    ConditionExpression: replaces
      ? `attribute_not_exists(pk) OR (${live} <= :at)`
      : `${live} > :at`,
    UpdateExpression: `SET exp = :exp, #ttl = :ttl, #by = :by
      ${replaces ? ", np = :np, nm = :nm, nat = :at, txt = :txt" : ""} ADD cnt :cnt`,
    ExpressionAttributeNames: { "#ttl": "ttl", "#by": "by" },
    ExpressionAttributeValues: {
      ":expiry": { N: String(instant.expiry) },
      ":at": { N: String(at) },
      ":exp": { N: String(expiresAt) },
      ":ttl": ttlOf(expiresAt),
      ":by": { S: by },
      ":cnt": { N: String(count) },
      ...(replaces && {
        ":np": { S: notePartition(scope, kind) },
        ":nm": { S: name },
        ":txt": { S: body },
      }),
    },
    ReturnValuesOnConditionCheckFailure: "ALL_OLD",
  };
}

async function removeNote({ client, table }: LedgerTable, pk: string): Promise<void> {
  const command = { TableName: table, Key: { pk: { S: pk } } };
  await untilWritten(CONTENDED, async () => {
    try {
      await client.send(new DeleteItemCommand(command));
      return WRITTEN;
    } catch (error) {
      if (conflictsIn(error) === null) throw error;
      return WRITE_LOST; // A transaction is changing the item.
    }
  });
}

async function listNotes(
  table: LedgerTable,
  wanted: { readonly scope: LedgerScope; readonly kind: NoteKind; readonly expiry: EpochMs },
  { after, limit }: NotePage,
): Promise<StoredNote[]> {
  const { scope, kind, expiry } = wanted;
  const notes: StoredNote[] = [];
  const pages = paginateQuery(
    { client: table.client, pageSize: Math.min(limit, BATCH_GET_MAX) },
    {
      TableName: table.table,
      IndexName: NOTE_INDEX,
      KeyConditionExpression: after === null ? "np = :np" : "np = :np AND nm > :after",
      ExpressionAttributeValues: {
        ":np": { S: notePartition(scope, kind) },
        ...(after !== null && { ":after": { S: after } }),
      },
    },
  );
  for await (const { Items = [] } of pages) {
    const pks = Items.map(({ pk }) => present(pk?.S, "the key of a note"));
    const items = await getItems(table, pks); // O3
    for (const pk of pks) {
      const live = liveNote(fromNoteItem(kind, items.get(pk)).note, expiry);
      if (live !== null) notes.push(live);
      if (notes.length === limit) return notes;
    }
  }
  return notes;
}

export interface DynamoNoteParts {
  readonly table: LedgerTable;
  readonly time: LedgerTime;
  guard<T>(work: () => Promise<T>): Promise<T>;
}

export function createDynamoNoteStore({ table, time, guard }: DynamoNoteParts): NoteStore {
  return {
    add: (scope, notes) =>
      guard(async () => {
        const instant = time.read();
        await inParallel(notes, (note) =>
          addNote(table, { scope, note, instant, by: table.nextWrite() }),
        );
      }),
    find: (scope, kind, name) =>
      guard(async () => {
        const item = await getItem(table, notePk(scope, kind, name));
        return liveNote(fromNoteItem(kind, item).note, time.read().expiry);
      }),
    list: (scope, kind, page) =>
      guard(() => listNotes(table, { scope, kind, expiry: time.read().expiry }, page)),
    remove: (scope, kind, names) =>
      guard(() => inParallel(names, (name) => removeNote(table, notePk(scope, kind, name)))),
  };
}
