// Broker snapshot: reads and verifies the complete state on disk.
//   V1. It reads through a connection that cannot change anything, so a damaged folder stays as it
//       is.
//   V2. It verifies every page of the tables it reads first, then every row as it passes.

import type { DatabaseSync, SQLInputValue, StatementSync } from "node:sqlite";
import { epochMs } from "../../../core/units.ts";
import type {
  DedupEntry,
  MessageHead,
  StoredDocument,
} from "../../../ports/broker/broker-change.ts";
import type { StoreSnapshot } from "../../../ports/broker/broker-store.ts";
import { formatOf, SCHEMA_ROWS, VERIFIED_TABLES } from "./broker-schema.ts";
import { corrupt } from "./file-check.ts";
import { headsIn } from "./message-block.ts";
import { areObjectRootsSound, OBJECT_SCHEMA_VERSION, OBJECT_TABLES } from "./object-schema.ts";
import { PAGE_MESSAGES, pageOf, ReceiptPage } from "./receipt-pages.ts";
import { rowCheck } from "./row-check.ts";

type Row = readonly SQLInputValue[];

/** Throws TG_STORE_CORRUPT if any page of the tables that a start reads is damaged (V2). */
export function verifyTables(reader: DatabaseSync, path: string): void {
  if (!hasOwnTables(reader)) throw corrupt(path, "its tables are not Tidegate's");
  for (const table of VERIFIED_TABLES) {
    const row = reader.prepare(`PRAGMA quick_check(${table})`).get();
    const verdict = row === undefined ? "no verdict" : String(Object.values(row)[0]);
    if (verdict !== "ok") throw corrupt(path, `table ${table}: ${verdict.replaceAll("\n", "; ")}`);
  }
}

/** Whether the tables match the file's format version. */
function hasOwnTables(reader: DatabaseSync): boolean {
  const schema = reader.prepare("SELECT rootpage, sql FROM sqlite_schema").all();
  const rows = schema.map(({ rootpage, sql }) => `${rootpage} ${sql}`);
  const first = rows.slice(0, SCHEMA_ROWS.length);
  if (first.join("\n") !== SCHEMA_ROWS.join("\n")) return false;
  const added = schema.slice(SCHEMA_ROWS.length).map(({ sql }) => sql);
  if (formatOf(reader) < OBJECT_SCHEMA_VERSION) return added.length === 0;
  return added.join("\n") === OBJECT_TABLES.join("\n") && areObjectRootsSound(reader);
}

/** How a snapshot reports to its store. */
export interface SnapshotHooks {
  /** Runs one read step; converts driver errors and closes the connection on any error. */
  guard<T>(work: () => T): T;
  /** Runs after the last message was read. */
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
      throw corrupt(path, `${what} fails its checksum`);
    });
  const sequence = hooks.guard(() => sequenceOf(reader, refuse));
  return {
    sequence,
    documents: documentsOf(rows("SELECT * FROM document ORDER BY collection, key"), refuse, hooks),
    dedups: dedupsOf(rows("SELECT * FROM dedup ORDER BY accepted_at, queue, first"), refuse),
    messages: messagesOf(
      rows("SELECT * FROM block ORDER BY first"),
      rows("SELECT * FROM receipt ORDER BY page"),
      refuse,
      hooks,
    ),
  };
}

function sequenceOf(reader: DatabaseSync, refuse: Refuse): number {
  const row = reader.prepare("SELECT sequence, sequence_check FROM meta").get();
  const sequence = row?.sequence as number | undefined;
  if (sequence === undefined || row?.sequence_check !== rowCheck(sequence)) {
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
    if (hooks.guard(() => rowCheck(collection, key, value)) !== check) {
      refuse(`document ${collection}/${key}`);
    }
    yield { collection, key, value };
  }
}

function* dedupsOf(rows: Iterable<Row>, refuse: Refuse): Generator<DedupEntry> {
  for (const row of rows) {
    const [queue, acceptedAt, first, text, check] = row as [number, number, number, string, number];
    if (rowCheck(queue, acceptedAt, first, text) !== check) {
      refuse(`a deduplication id of message ${first} or one after it`);
    }
    const entries = JSON.parse(text) as (string | number)[];
    for (let at = 0; at < entries.length; at += 3) {
      yield {
        queue,
        acceptedAt: epochMs(acceptedAt),
        digest: entries[at] as string,
        messageId: entries[at + 1] as string,
        seq: entries[at + 2] as number,
      };
    }
  }
}

/** Blocks and receipt pages, both in order, read in parallel. */
function* messagesOf(
  blocks: Generator<Row>,
  receipts: Generator<Row>,
  refuse: Refuse,
  hooks: SnapshotHooks,
): Generator<MessageHead> {
  const pages = pageReader(receipts, refuse);
  for (const row of blocks) {
    const [first, count, heads, groups, check] = row as BlockRow;
    if (rowCheck(first, count, heads, groups) !== check) {
      refuse(`one of the messages from ${first} on`);
    }
    const page = pages(pageOf(first));
    for (const head of headsIn({ first, count, heads, groups })) {
      if (page === null) yield head;
      else if (!page.isGone(head.seq)) yield { ...head, ...page.read(head.seq) };
    }
  }
  hooks.drained();
}

type BlockRow = [number, number, Uint8Array, string | null, number];

/** Returns the page of a number; numbers must not decrease between calls. */
function pageReader(
  receipts: Generator<Row>,
  refuse: Refuse,
): (number: number) => ReceiptPage | null {
  let page: ReceiptPage | null = null;
  return (number) => {
    while (page === null || page.number < number) {
      const next = receipts.next();
      if (next.done === true) return null;
      const [pageNumber, slots, check] = next.value as [number, Uint8Array, number];
      if (rowCheck(pageNumber, slots) !== check) {
        refuse(`a receipt of message ${pageNumber * PAGE_MESSAGES} or one after it`);
      }
      page = new ReceiptPage(pageNumber, slots);
    }
    return page.number === number ? page : null;
  };
}

function* guardedRows(reader: DatabaseSync, sql: string, hooks: SnapshotHooks): Generator<Row> {
  const iterator = hooks.guard(() => arrayRows(reader.prepare(sql)));
  for (;;) {
    const next = hooks.guard(() => iterator.next());
    if (next.done === true) return;
    yield next.value;
  }
}

/** Rows as arrays; Node before 22.16 returns objects only, with values in the same order. */
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
