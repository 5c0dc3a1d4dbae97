// Schema: the tables of this version in a SQLite file.
//   M1. Parts (the ledger, the outbox) have separate versions, so that they can share a file with
//       each other and with a user's own tables. They claim nothing of the file itself.
//   M2. A version has one set of tables. Nothing is migrated: a file of another version, older or
//       newer, is rejected and left unchanged.

import { existsSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { otherVersion } from "../../../ledger/schema-version.ts";
import { hasLog } from "../renew-log.ts";
import { SQLITE_BATCH_TABLES } from "./batch-tables.ts";
import { SQLITE_CLOCK_TABLE } from "./clock-table.ts";
import { SQLITE_LEDGER_TABLES } from "./ledger-tables.ts";
import { SQLITE_OUTBOX_TABLES } from "./outbox-tables.ts";
import { inSqliteTransaction } from "./transaction.ts";

export interface SqliteSchema {
  readonly part: "ledger" | "outbox";
  readonly version: number;
  readonly tables: string;
}

export const SQLITE_LEDGER: SqliteSchema = {
  part: "ledger",
  version: 7,
  tables: SQLITE_LEDGER_TABLES + SQLITE_CLOCK_TABLE,
};
export const SQLITE_OUTBOX: SqliteSchema = {
  part: "outbox",
  version: 3,
  tables: SQLITE_OUTBOX_TABLES + SQLITE_BATCH_TABLES + SQLITE_CLOCK_TABLE,
};

/** The version of a part in this file; 0 if the part is missing. */
export function schemaVersion(db: DatabaseSync, part: string): number {
  const table = db
    .prepare("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'tidegate_schema'")
    .get();
  if (table === undefined) return 0;
  const row = db.prepare("SELECT version FROM tidegate_schema WHERE part = ?").get(part);
  return row === undefined ? 0 : Number(row.version);
}

/** Whether the file has the part; throws if it has another version of it (M2). */
export function hasSqliteSchema(db: DatabaseSync, { part, version }: SqliteSchema): boolean {
  const existing = schemaVersion(db, part);
  if (existing !== 0 && existing !== version) throw otherVersion(part, existing, version);
  return existing === version;
}

/**
 * Throws if the file has another version of the part. Call it before the file's log is renewed,
 * which writes (M2). A file without a log needs no check of its own. Another process may renew the
 * log now, or close the file as the last one; both hold a lock, for which this waits.
 */
export function refuseOtherVersion(path: string, schema: SqliteSchema, busyMs: number): void {
  if (!existsSync(path) || !hasLog(path)) return;
  const db = new DatabaseSync(path, { readOnly: true, timeout: busyMs });
  try {
    hasSqliteSchema(db, schema);
  } finally {
    db.close();
  }
}

/** Creates missing tables in one transaction; safe when several processes start at once. */
export function createSqliteTables(db: DatabaseSync, schema: SqliteSchema): void {
  if (hasSqliteSchema(db, schema)) return;
  const { part, version, tables } = schema;
  inSqliteTransaction(db, () => {
    // Another process may have come first; only now, with the lock held, is the answer final.
    if (hasSqliteSchema(db, schema)) return;
    db.exec(
      `CREATE TABLE IF NOT EXISTS tidegate_schema
        (part TEXT PRIMARY KEY, version INTEGER NOT NULL)`,
    );
    db.exec(tables);
    db.prepare("INSERT INTO tidegate_schema VALUES (?, ?)").run(part, version);
  });
}
