// Broker statements: every change of the port as prepared SQL. The hot path of the whole broker:
// one call per row, no look-up before a write, nothing built per call.
//   P1. Each change lands on exactly the rows it names; anything else is a broken invariant.

import type { DatabaseSync, StatementSync } from "node:sqlite";
import { assert, present, unreachable } from "../../core/assert.ts";
import type { Change, MessageContent, MessageHead } from "../../ports/broker-store.ts";
import { type ObjectRows, prepareObjectRows } from "./object-rows.ts";
import {
  contentCheck,
  dedupCheck,
  documentCheck,
  headCheck,
  receiptCheck,
  sequenceCheck,
} from "./row-check.ts";

type MoveMessage = Extract<Change, { kind: "move-message" }>;

export interface StoredContent extends MessageContent {
  readonly check: number;
}

export interface BrokerStatements {
  begin(): void;
  commit(): void;
  apply(change: Change): void;
  content(seq: number): StoredContent | undefined;
  hasHead(seq: number): boolean;
  readonly objects: ObjectRows;
}

/** `refuse` is told which object is not what was written. */
export function prepareStatements(
  database: DatabaseSync,
  refuse: (what: string) => never,
): BrokerStatements {
  const objects = prepareObjectRows(database, refuse);
  const prepare = (sql: string) => database.prepare(sql);
  const sql = {
    begin: prepare("BEGIN IMMEDIATE"),
    commit: prepare("COMMIT"),
    insertHead: prepare("INSERT INTO head VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"),
    insertContent: prepare("INSERT INTO content VALUES (?, ?, ?, ?, ?)"),
    updateReceipt: prepare(
      `UPDATE head SET due_at = ?, received_at = ?, first_received_at = ?, receive_count = ?,
         receipt_check = ? WHERE seq = ?`,
    ),
    deleteHead: prepare("DELETE FROM head WHERE seq = ?"),
    deleteContent: prepare("DELETE FROM content WHERE seq = ?"),
    hasHead: prepare("SELECT 1 FROM head WHERE seq = ?"),
    content: prepare("SELECT id, detail, body, content_check FROM content WHERE seq = ?"),
    putDedup: prepare("INSERT OR REPLACE INTO dedup VALUES (?, ?, ?, ?, ?, ?)"),
    expireDedup: prepare("DELETE FROM dedup WHERE queue = ? AND accepted_at < ?"),
    putDocument: prepare("INSERT OR REPLACE INTO document VALUES (?, ?, ?, ?)"),
    deleteDocument: prepare("DELETE FROM document WHERE collection = ? AND key = ?"),
    setSequence: prepare("UPDATE meta SET sequence = ?, sequence_check = ? WHERE one = 1"),
  };
  return {
    begin: () => void sql.begin.run(),
    commit: () => void sql.commit.run(),
    apply: (change) => applyChange(sql, objects, change),
    content: (seq) => contentAt(sql.content, seq),
    hasHead: (seq) => sql.hasHead.get(seq) !== undefined,
    objects,
  };
}

type Statements = Readonly<
  Record<
    | "insertHead"
    | "insertContent"
    | "updateReceipt"
    | "deleteHead"
    | "deleteContent"
    | "content"
    | "putDedup"
    | "expireDedup"
    | "putDocument"
    | "deleteDocument"
    | "setSequence",
    StatementSync
  >
>;

function applyChange(sql: Statements, objects: ObjectRows, change: Change): void {
  switch (change.kind) {
    case "put-message":
      insertHead(sql, change.head);
      insertContent(sql, change.head.seq, change.content);
      return;
    case "update-receipt": {
      const { seq, dueAt, receivedAt, firstReceivedAt, receiveCount } = change;
      const check = receiptCheck(seq, change);
      const times = sql.updateReceipt;
      one(times.run(dueAt, receivedAt, firstReceivedAt, receiveCount, check, seq).changes, seq);
      return;
    }
    case "move-message":
      moveMessage(sql, change);
      return;
    case "delete-message":
      one(sql.deleteHead.run(change.seq).changes, change.seq);
      one(sql.deleteContent.run(change.seq).changes, change.seq);
      return;
    case "put-dedup": {
      const { queue, acceptedAt, seq, digest, messageId } = change.entry;
      sql.putDedup.run(queue, acceptedAt, seq, digest, messageId, dedupCheck(change.entry));
      return;
    }
    case "expire-dedup":
      sql.expireDedup.run(change.queue, change.before);
      return;
    case "put-document": {
      const { collection, key, value } = change.document;
      sql.putDocument.run(collection, key, value, documentCheck(collection, key, value));
      return;
    }
    case "delete-document":
      sql.deleteDocument.run(change.collection, change.key);
      return;
    case "set-sequence":
      sql.setSequence.run(change.seq, sequenceCheck(change.seq));
      return;
    case "put-object":
    case "delete-object":
    case "put-blob":
    case "delete-blob":
    case "put-upload":
    case "delete-upload":
    case "put-part":
      objects.apply(change);
      return;
    default:
      unreachable(change);
  }
}

function insertHead(sql: Statements, head: MessageHead): void {
  sql.insertHead.run(
    head.seq,
    head.queue,
    head.sentAt,
    head.dueAt,
    head.receivedAt,
    head.firstReceivedAt,
    head.receiveCount,
    receiptCheck(head.seq, head),
    head.source,
    head.arrivalCount,
    head.group,
    headCheck(head),
  );
}

function insertContent(sql: Statements, seq: number, content: MessageContent): void {
  sql.insertContent.run(seq, content.id, content.detail, contentCheck(seq, content), content.body);
}

function moveMessage(sql: Statements, change: MoveMessage): void {
  const { from, head, id, detail } = change;
  one(sql.deleteHead.run(from).changes, from);
  insertHead(sql, head);
  const old = present(contentAt(sql.content, from), `content of message ${from}`);
  one(sql.deleteContent.run(from).changes, from);
  insertContent(sql, head.seq, {
    id: id ?? old.id,
    body: old.body,
    detail: detail === undefined ? old.detail : detail,
  });
}

function contentAt(statement: StatementSync, seq: number): StoredContent | undefined {
  const row = statement.get(seq);
  if (row === undefined) return undefined;
  return {
    id: row.id as string,
    body: row.body as string,
    detail: row.detail as string | null,
    check: row.content_check as number,
  };
}

function one(changes: number | bigint, seq: number): void {
  assert(changes === 1, `message ${seq} is missing`); // P1
}
