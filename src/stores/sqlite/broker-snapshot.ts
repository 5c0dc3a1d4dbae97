// Broker snapshot: everything on disk, verified while it is read.
//   V1. Reads through a connection that can change nothing (a damaged folder stays as it is).
//   V2. Every page of the tables read here is verified first, then every row as it goes by.

import type { DatabaseSync, SQLInputValue, StatementSync } from "node:sqlite";
import { type EpochMs, epochMs } from "../../core/units.ts";
import type {
  DedupEntry,
  MessageHead,
  StoredDocument,
  StoreSnapshot,
} from "../../ports/broker-store.ts";
import { formatOf, SCHEMA_ROWS, VERIFIED_TABLES } from "./broker-schema.ts";
import { corrupt } from "./file-check.ts";
import { areObjectRootsSound, OBJECT_SCHEMA_VERSION, OBJECT_TABLES } from "./object-schema.ts";
import {
  dedupCheck,
  documentCheck,
  headCheck,
  isWhole,
  receiptCheck,
  sequenceCheck,
} from "./row-check.ts";

type Row = readonly SQLInputValue[];

/** Throws TG_STORE_CORRUPT if any page of the tables that a start reads is not sound (V2). */
export function verifyTables(reader: DatabaseSync, path: string): void {
  if (!hasOwnTables(reader)) throw corrupt(path, "its tables are not those that Tidegate makes");
  for (const table of VERIFIED_TABLES) {
    const row = reader.prepare(`PRAGMA quick_check(${table})`).get();
    const verdict = row === undefined ? "no verdict" : String(Object.values(row)[0]);
    if (verdict !== "ok") throw corrupt(path, `table ${table}: ${verdict.replaceAll("\n", "; ")}`);
  }
}

/** Whether the tables are those of the format that the file says it has. */
function hasOwnTables(reader: DatabaseSync): boolean {
  const schema = reader.prepare("SELECT rootpage, sql FROM sqlite_schema").all();
  const first = schema
    .slice(0, SCHEMA_ROWS.length)
    .map(({ rootpage, sql }) => `${rootpage} ${sql}`);
  if (first.join("\n") !== SCHEMA_ROWS.join("\n")) return false;
  const added = schema.slice(SCHEMA_ROWS.length).map(({ sql }) => sql);
  if (formatOf(reader) < OBJECT_SCHEMA_VERSION) return added.length === 0;
  return added.join("\n") === OBJECT_TABLES.join("\n") && areObjectRootsSound(reader);
}

/** How a snapshot tells its store what it met. */
export interface SnapshotHooks {
  /** Runs a step of reading; turns the driver's errors and closes the connection upon any. */
  guard<T>(work: () => T): T;
  /** Runs once the last message has been read. */
  drained(): void;
}

type Refuse = (what: string) => never;

export function readSnapshot(
  reader: DatabaseSync,
  path: string,
  hooks: SnapshotHooks,
): StoreSnapshot {
  const rows = (sql: string) => guardedRows(reader, sql, hooks);
  const refuse: Refuse = (what) =>
    hooks.guard(() => {
      throw corrupt(path, `${what} is not what was written`);
    });
  const sequence = hooks.guard(() => sequenceOf(reader, refuse));
  return {
    sequence,
    documents: documentsOf(rows("SELECT * FROM document ORDER BY collection, key"), refuse, hooks),
    dedups: dedupsOf(rows("SELECT * FROM dedup ORDER BY accepted_at, queue, seq"), refuse),
    messages: headsOf(rows("SELECT * FROM head ORDER BY seq"), refuse, hooks),
  };
}

function sequenceOf(reader: DatabaseSync, refuse: Refuse): number {
  const row = reader.prepare("SELECT sequence, sequence_check FROM meta").get();
  const sequence = row?.sequence as number | undefined;
  if (sequence === undefined || row?.sequence_check !== sequenceCheck(sequence)) {
    return refuse("its sequence number");
  }
  return sequence;
}

function* documentsOf(
  rows: Iterable<Row>,
  refuse: Refuse,
  hooks: SnapshotHooks,
): Generator<StoredDocument> {
  for (const row of rows) {
    const [collection, key, value, check] = row as [string, string, string, number];
    if (hooks.guard(() => documentCheck(collection, key, value)) !== check) {
      refuse(`document ${collection}/${key}`);
    }
    yield { collection, key, value };
  }
}

function* dedupsOf(rows: Iterable<Row>, refuse: Refuse): Generator<DedupEntry> {
  for (const row of rows) {
    const entry: DedupEntry = {
      queue: row[0] as number,
      acceptedAt: epochMs(row[1] as number),
      seq: row[2] as number,
      digest: row[3] as string,
      messageId: row[4] as string,
    };
    if (row[5] !== dedupCheck(entry)) {
      refuse(`deduplication id of message ${entry.seq}`);
    }
    yield entry;
  }
}

function* headsOf(
  rows: Iterable<Row>,
  refuse: Refuse,
  hooks: SnapshotHooks,
): Generator<MessageHead> {
  for (const row of rows) {
    const head: MessageHead = {
      seq: row[0] as number,
      queue: row[1] as number,
      sentAt: row[2] as EpochMs,
      dueAt: row[3] as EpochMs,
      receivedAt: row[4] as EpochMs,
      firstReceivedAt: row[5] as EpochMs,
      receiveCount: row[6] as number,
      source: row[8] as number,
      arrivalCount: row[9] as number,
      group: row[10] as string | null,
    };
    if (!isSound(head, row[7], row[11])) {
      refuse(`message ${head.seq}`);
    }
    yield head;
  }
  hooks.drained();
}

function isSound(head: MessageHead, receipt: unknown, rest: unknown): boolean {
  return (
    receipt === receiptCheck(head.seq, head) &&
    rest === headCheck(head) &&
    isWhole(head.dueAt) &&
    isWhole(head.receivedAt) &&
    isWhole(head.firstReceivedAt) &&
    isWhole(head.receiveCount)
  );
}

function* guardedRows(reader: DatabaseSync, sql: string, hooks: SnapshotHooks): Generator<Row> {
  const iterator = hooks.guard(() => arrayRows(reader.prepare(sql)));
  for (;;) {
    const next = hooks.guard(() => iterator.next());
    if (next.done === true) return;
    yield next.value;
  }
}

/** Rows as arrays; Node before 22.16 gives objects only, whose values stand in the same order. */
function arrayRows(statement: StatementSync): Iterator<Row> {
  if (typeof statement.setReturnArrays === "function") {
    statement.setReturnArrays(true);
    return statement.iterate() as unknown as Iterator<Row>;
  }
  return valuesOf(statement.iterate() as Iterable<Record<string, SQLInputValue>>);
}

function* valuesOf(rows: Iterable<Record<string, SQLInputValue>>): Generator<Row> {
  for (const row of rows) yield Object.values(row);
}
