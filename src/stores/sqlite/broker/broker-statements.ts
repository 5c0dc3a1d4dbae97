// Broker statements: the SQL of the store, prepared once, with the checksum of each row. Reads and
// writes are prepared separately, since they run on different threads.

import type { DatabaseSync } from "node:sqlite";
import type { ObjectChange } from "../../../ports/broker/object-change.ts";
import { corrupt } from "./file-check.ts";
import type { BlockRows } from "./message-block.ts";
import { prepareObjectWrites } from "./object-rows.ts";
import { PAGE_MESSAGES } from "./receipt-pages.ts";
import { rowCheck } from "./row-check.ts";

export type ContentRow = Pick<BlockRows, "first" | "lengths" | "text">;
export type HeadRow = Pick<BlockRows, "first" | "count" | "heads" | "groups">;

export interface BrokerReads {
  receiptsOf(page: number): Uint8Array | undefined;
  headsOf(page: number): HeadRow[];
  /** The block that would contain a message, if it exists. */
  contentFor(seq: number): ContentRow | undefined;
}

/** `path` names the file in the error about a row with a wrong checksum. */
export function prepareReads(database: DatabaseSync, path: string): BrokerReads {
  const heads = database.prepare(
    "SELECT first, count, heads, groups, block_check FROM block WHERE first BETWEEN ? AND ?",
  );
  const content = database.prepare(
    `SELECT first, lengths, text, content_check FROM content WHERE first <= ?
     ORDER BY first DESC LIMIT 1`,
  );
  const receipts = database.prepare("SELECT slots, receipt_check FROM receipt WHERE page = ?");
  return {
    receiptsOf(page) {
      const row = receipts.get(page) as { slots: Uint8Array; receipt_check: number } | undefined;
      if (row === undefined || rowCheck(page, row.slots) === row.receipt_check) return row?.slots;
      const first = page * PAGE_MESSAGES;
      throw corrupt(path, `a receipt of message ${first} or one after it fails its checksum`);
    },
    headsOf(page) {
      const first = page * PAGE_MESSAGES;
      const rows = heads.all(first, first + PAGE_MESSAGES - 1) as unknown as (HeadRow & {
        block_check: number;
      })[];
      for (const row of rows) {
        const sound = rowCheck(row.first, row.count, row.heads, row.groups) === row.block_check;
        const what = `one of the messages from ${row.first} on fails its checksum`;
        if (!sound) throw corrupt(path, what);
      }
      return rows;
    },
    contentFor(seq) {
      const row = content.get(seq) as (ContentRow & { content_check: number }) | undefined;
      if (row !== undefined && rowCheck(row.first, row.lengths, row.text) !== row.content_check) {
        throw corrupt(path, `the content of message ${seq} fails its checksum`);
      }
      return row;
    },
  };
}

export interface BrokerWrites {
  insertBlock(rows: BlockRows): void;
  deleteBlock(first: number): void;
  /** Deletes the blocks and the receipts of a page. */
  deletePage(page: number): void;
  putReceipts(page: number, slots: Uint8Array): void;
  putDedups(queue: number, acceptedAt: number, first: number, entries: string): void;
  expireDedups(queue: number, before: number): void;
  putDocument(collection: string, key: string, value: string): void;
  deleteDocument(collection: string, key: string): void;
  setSequence(sequence: number): void;
  changeObject(change: ObjectChange): void;
}

/** One write as sent to the writing thread: its name and arguments. */
export type Write = {
  [K in keyof BrokerWrites]: [K, ...Parameters<BrokerWrites[K]>];
}[keyof BrokerWrites];

/**
 * Returns the function that runs writes as one transaction, synced when it returns. A transaction
 * may come in several parts; only the last one commits it.
 */
export function prepareWrites(
  database: DatabaseSync,
): (writes: readonly Write[], isLast?: boolean) => void {
  const begin = database.prepare("BEGIN IMMEDIATE");
  const commit = database.prepare("COMMIT");
  const changeObject = prepareObjectWrites(database);
  const all: BrokerWrites = {
    ...messageWrites(database),
    ...otherWrites(database),
    changeObject,
  };
  const run = all as unknown as Record<string, (...values: unknown[]) => void>;
  return (writes, isLast = true) => {
    if (!database.isTransaction) begin.run();
    for (const [name, ...values] of writes) run[name]?.(...values);
    if (isLast) commit.run();
  };
}

function messageWrites(database: DatabaseSync) {
  const insertHeads = database.prepare("INSERT INTO block VALUES (?, ?, ?, ?, ?)");
  const insertContent = database.prepare("INSERT INTO content VALUES (?, ?, ?, ?)");
  const putReceipts = database.prepare("INSERT OR REPLACE INTO receipt VALUES (?, ?, ?)");
  const eraseReceipts = database.prepare("DELETE FROM receipt WHERE page = ?");
  const erase = ["block", "content"].map((table) =>
    database.prepare(`DELETE FROM ${table} WHERE first BETWEEN ? AND ?`),
  );
  return {
    insertBlock({ first, count, heads, groups, lengths, text }) {
      insertHeads.run(first, count, heads, groups, rowCheck(first, count, heads, groups));
      insertContent.run(first, lengths, rowCheck(first, lengths, text), text);
    },
    deleteBlock(first) {
      for (const statement of erase) statement.run(first, first);
    },
    deletePage(page) {
      const first = page * PAGE_MESSAGES;
      for (const statement of erase) statement.run(first, first + PAGE_MESSAGES - 1);
      eraseReceipts.run(page);
    },
    putReceipts(page, slots) {
      putReceipts.run(page, slots, rowCheck(page, slots));
    },
  } satisfies Partial<BrokerWrites>;
}

function otherWrites(database: DatabaseSync) {
  const putDedups = database.prepare("INSERT INTO dedup VALUES (?, ?, ?, ?, ?)");
  const expireDedups = database.prepare("DELETE FROM dedup WHERE queue = ? AND accepted_at < ?");
  const putDocument = database.prepare("INSERT OR REPLACE INTO document VALUES (?, ?, ?, ?)");
  const deleteDocument = database.prepare("DELETE FROM document WHERE collection = ? AND key = ?");
  const setSequence = database.prepare(
    "UPDATE meta SET sequence = ?, sequence_check = ? WHERE one = 1",
  );
  return {
    putDedups(queue, acceptedAt, first, entries) {
      const check = rowCheck(queue, acceptedAt, first, entries);
      putDedups.run(queue, acceptedAt, first, entries, check);
    },
    expireDedups: (queue, before) => void expireDedups.run(queue, before),
    putDocument(collection, key, value) {
      putDocument.run(collection, key, value, rowCheck(collection, key, value));
    },
    deleteDocument: (collection, key) => void deleteDocument.run(collection, key),
    setSequence: (sequence) => void setSequence.run(sequence, rowCheck(sequence)),
  } satisfies Partial<BrokerWrites>;
}
