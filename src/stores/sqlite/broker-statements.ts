// Broker statements: the SQL of the store, prepared once, each with the check of its row.

import type { DatabaseSync } from "node:sqlite";
import type { StoredDocument } from "../../ports/broker-store.ts";
import { corrupt } from "./file-check.ts";
import type { BlockRows } from "./message-block.ts";
import { PAGE_MESSAGES, type ReceiptPage } from "./receipt-pages.ts";
import { rowCheck } from "./row-check.ts";

export type ContentRow = Pick<BlockRows, "first" | "lengths" | "text">;
export type HeadRow = Pick<BlockRows, "first" | "count" | "heads" | "groups">;

export interface BrokerStatements {
  begin(): void;
  commit(): void;
  insertBlock(rows: BlockRows): void;
  deleteBlock(first: number): void;
  /** Erases the blocks and the receipts of a page. */
  deletePage(page: number): void;
  putReceipts(page: ReceiptPage): void;
  receiptsOf(page: number): Uint8Array | undefined;
  headsOf(page: number): HeadRow[];
  /** The block that would hold a message, if there is one. */
  contentFor(seq: number): ContentRow | undefined;
  putDedups(queue: number, acceptedAt: number, first: number, entries: string): void;
  expireDedups(queue: number, before: number): void;
  putDocument(document: StoredDocument): void;
  deleteDocument(collection: string, key: string): void;
  setSequence(sequence: number): void;
}

/** `path` is told in the complaint about a row whose check does not hold. */
export function prepareStatements(database: DatabaseSync, path: string): BrokerStatements {
  const prepare = (sql: string) => database.prepare(sql);
  const begin = prepare("BEGIN IMMEDIATE");
  const commit = prepare("COMMIT");
  const setSequence = prepare("UPDATE meta SET sequence = ?, sequence_check = ? WHERE one = 1");
  const putDocument = prepare("INSERT OR REPLACE INTO document VALUES (?, ?, ?, ?)");
  const deleteDocument = prepare("DELETE FROM document WHERE collection = ? AND key = ?");
  const putDedups = prepare("INSERT INTO dedup VALUES (?, ?, ?, ?, ?)");
  const expireDedups = prepare("DELETE FROM dedup WHERE queue = ? AND accepted_at < ?");
  return {
    begin: () => void begin.run(),
    commit: () => void commit.run(),
    ...blockStatements(database, path),
    ...receiptStatements(database, path),
    putDedups(queue, acceptedAt, first, entries) {
      const check = rowCheck(queue, acceptedAt, first, entries);
      putDedups.run(queue, acceptedAt, first, entries, check);
    },
    expireDedups: (queue, before) => void expireDedups.run(queue, before),
    putDocument({ collection, key, value }) {
      putDocument.run(collection, key, value, rowCheck(collection, key, value));
    },
    deleteDocument: (collection, key) => void deleteDocument.run(collection, key),
    setSequence: (sequence) => void setSequence.run(sequence, rowCheck(sequence)),
  };
}

function blockStatements(database: DatabaseSync, path: string) {
  const insertHeads = database.prepare("INSERT INTO block VALUES (?, ?, ?, ?, ?)");
  const insertContent = database.prepare("INSERT INTO content VALUES (?, ?, ?, ?)");
  const heads = database.prepare(
    "SELECT first, count, heads, groups, block_check FROM block WHERE first BETWEEN ? AND ?",
  );
  const content = database.prepare(
    `SELECT first, lengths, text, content_check FROM content WHERE first <= ?
     ORDER BY first DESC LIMIT 1`,
  );
  return {
    insertBlock({ first, count, heads, groups, lengths, text }: BlockRows) {
      insertHeads.run(first, count, heads, groups, rowCheck(first, count, heads, groups));
      insertContent.run(first, lengths, rowCheck(first, lengths, text), text);
    },
    headsOf(page: number): HeadRow[] {
      const first = page * PAGE_MESSAGES;
      const rows = heads.all(first, first + PAGE_MESSAGES - 1) as unknown as (HeadRow & {
        block_check: number;
      })[];
      for (const row of rows) {
        const sound = rowCheck(row.first, row.count, row.heads, row.groups) === row.block_check;
        if (!sound)
          throw corrupt(path, `one of the messages from ${row.first} on is not what was written`);
      }
      return rows;
    },
    contentFor(seq: number): ContentRow | undefined {
      const row = content.get(seq) as (ContentRow & { content_check: number }) | undefined;
      if (row !== undefined && rowCheck(row.first, row.lengths, row.text) !== row.content_check) {
        throw corrupt(path, `the content of message ${seq} is not what was written`);
      }
      return row;
    },
  };
}

function receiptStatements(database: DatabaseSync, path: string) {
  const put = database.prepare("INSERT OR REPLACE INTO receipt VALUES (?, ?, ?)");
  const read = database.prepare("SELECT slots, receipt_check FROM receipt WHERE page = ?");
  const erase = ["block", "content"].map((table) =>
    database.prepare(`DELETE FROM ${table} WHERE first BETWEEN ? AND ?`),
  );
  const eraseReceipts = database.prepare("DELETE FROM receipt WHERE page = ?");
  return {
    putReceipts(page: ReceiptPage) {
      put.run(page.number, page.bytes, rowCheck(page.number, page.bytes));
    },
    receiptsOf(page: number): Uint8Array | undefined {
      const row = read.get(page) as { slots: Uint8Array; receipt_check: number } | undefined;
      if (row === undefined) return undefined;
      if (rowCheck(page, row.slots) !== row.receipt_check) {
        throw corrupt(
          path,
          `a receipt from message ${page * PAGE_MESSAGES} on is not what was written`,
        );
      }
      return row.slots;
    },
    deleteBlock(first: number) {
      for (const statement of erase) statement.run(first, first);
    },
    deletePage(page: number) {
      const first = page * PAGE_MESSAGES;
      for (const statement of erase) statement.run(first, first + PAGE_MESSAGES - 1);
      eraseReceipts.run(page);
    },
  };
}
