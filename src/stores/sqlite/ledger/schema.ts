// Schema: the tables of this version in a SQLite file, and the steps to it from earlier ones.
//   M1. Parts (the ledger, the outbox) have separate versions, so that they can share a file with
//       each other and with a user's own tables. They claim nothing of the file itself.
//   M2. A file of a version that this release may not use is rejected and left unchanged.
//   M3. The limits of V1 (ledger/schema-version.ts) have a table of their own: releases before it
//       insert rows of two columns into `tidegate_schema`.

import { existsSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import {
  judgeSchema,
  newerSchema,
  type SchemaLimits,
  type SchemaState,
  type SchemaStep,
  type StoredSchema,
  type SupportedSchema,
} from "../../../ledger/schema-version.ts";
import { hasLog } from "../renew-log.ts";
import { SQLITE_BATCH_TABLES } from "./batch-tables.ts";
import { SQLITE_CLOCK_TABLE } from "./clock-table.ts";
import { SQLITE_LEDGER_TABLES } from "./ledger-tables.ts";
import { SQLITE_OUTBOX_TABLES } from "./outbox-tables.ts";
import { inSqliteTransaction } from "./transaction.ts";

export interface SqliteSchema extends SupportedSchema {
  readonly tables: string;
  /** From `oldest` on. */
  readonly steps: readonly SchemaStep[];
}

const LIMITS_TABLE = `
CREATE TABLE IF NOT EXISTS tidegate_schema_limits (
  part TEXT PRIMARY KEY,
  readers_from INTEGER NOT NULL,
  writers_from INTEGER NOT NULL
) STRICT;
`;

export const SQLITE_LEDGER: SqliteSchema = {
  part: "ledger",
  version: 8,
  oldest: 7,
  tables: SQLITE_LEDGER_TABLES + SQLITE_CLOCK_TABLE,
  steps: [{ to: 8, readersFrom: 7, writersFrom: 7, sql: LIMITS_TABLE }],
};
export const SQLITE_OUTBOX: SqliteSchema = {
  part: "outbox",
  version: 4,
  oldest: 3,
  tables: SQLITE_OUTBOX_TABLES + SQLITE_BATCH_TABLES + SQLITE_CLOCK_TABLE,
  steps: [{ to: 4, readersFrom: 3, writersFrom: 3, sql: LIMITS_TABLE }],
};

const HAS_TABLE = "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?";
const SELECT_LIMITS = `SELECT readers_from AS readersFrom, writers_from AS writersFrom
  FROM tidegate_schema_limits WHERE part = ?`;
const SELECT_VERSION = "SELECT version FROM tidegate_schema WHERE part = ?";

/** What the file has of a part; null if the part is missing. */
export function schemaInFile(db: DatabaseSync, part: string): StoredSchema | null {
  const hasTable = (name: string) => db.prepare(HAS_TABLE).get(name) !== undefined;
  if (!hasTable("tidegate_schema")) return null;
  const row = db.prepare(SELECT_VERSION).get(part);
  if (row === undefined) return null;
  const version = Number(row.version);
  const limits = hasTable("tidegate_schema_limits")
    ? db.prepare(SELECT_LIMITS).get(part)
    : undefined;
  const { readersFrom = version, writersFrom = version } = limits ?? {};
  return { version, readersFrom: Number(readersFrom), writersFrom: Number(writersFrom) };
}

/** Whether this release may use the part; throws if it may not (M2). */
export function judgeFile(
  db: DatabaseSync,
  schema: SqliteSchema,
  use: "read" | "write",
): SchemaState {
  return judgeSchema(schemaInFile(db, schema.part), schema, use);
}

/**
 * Throws if this release may not write the part. Call it before the file's log is renewed, which
 * writes (M2). A file without a log needs no check of its own. Another process may renew the
 * log now, or close the file as the last one; both hold a lock, for which this waits.
 */
export function refuseOtherVersion(path: string, schema: SqliteSchema, busyMs: number): void {
  if (!existsSync(path) || !hasLog(path)) return;
  const db = new DatabaseSync(path, { readOnly: true, timeout: busyMs });
  try {
    judgeFile(db, schema, "write");
  } finally {
    db.close();
  }
}

/** Creates missing tables in one transaction; safe when several processes start at once. */
export function createSqliteTables(db: DatabaseSync, schema: SqliteSchema): void {
  if (judgeFile(db, schema, "write") !== "missing") return;
  const { part, version, tables, steps } = schema;
  inSqliteTransaction(db, () => {
    // Another process may have come first; only now, with the lock held, is the answer final.
    if (judgeFile(db, schema, "write") !== "missing") return;
    db.exec(
      `CREATE TABLE IF NOT EXISTS tidegate_schema
        (part TEXT PRIMARY KEY, version INTEGER NOT NULL)`,
    );
    db.exec(tables + LIMITS_TABLE);
    const last = steps.at(-1) ?? { readersFrom: version, writersFrom: version };
    saveSchema(db, part, { version, ...last });
  });
}

export function saveSchema(
  db: DatabaseSync,
  part: string,
  { version, readersFrom, writersFrom }: StoredSchema,
): void {
  db.prepare("INSERT OR REPLACE INTO tidegate_schema VALUES (?, ?)").run(part, version);
  const save = db.prepare("INSERT OR REPLACE INTO tidegate_schema_limits VALUES (?, ?, ?)");
  save.run(part, readersFrom, writersFrom);
}

/**
 * Returns a check that a newer release has not upgraded the file beyond this one since it was
 * opened (V3 of ledger/schema-version.ts). Call it inside the transaction of each write.
 */
export function createSqliteFence(db: DatabaseSync, schema: SqliteSchema): () => void {
  const select = db.prepare(SELECT_LIMITS);
  return () => {
    const limits = select.get(schema.part) as SchemaLimits | undefined;
    if (limits === undefined || limits.writersFrom <= schema.version) return;
    throw newerSchema(schema, Number(schemaInFile(db, schema.part)?.version));
  };
}
