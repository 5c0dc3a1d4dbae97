// Schema: migrates a SQLite file to the tables of this version.
//   M1. Parts (the ledger, the outbox) have separate version counters, so that they can share a
//       file with each other and with a user's own tables. They claim nothing of the file itself.
//   M2. A migration never changes once released; a new one follows it.
//   M3. A file of a newer version is rejected with TG_STORE_NEWER and left unchanged.

import type { DatabaseSync } from "node:sqlite";
import { TidegateError } from "../../../core/errors.ts";
import { sqliteLedger0001 } from "./migrations/0001-ledger.ts";
import { sqliteOutbox0001 } from "./migrations/0001-outbox.ts";
import { sqliteLedger0002 } from "./migrations/0002-notes.ts";
import { inSqliteTransaction } from "./transaction.ts";

export const SQLITE_LEDGER_MIGRATIONS: readonly string[] = [sqliteLedger0001, sqliteLedger0002];
export const SQLITE_OUTBOX_MIGRATIONS: readonly string[] = [sqliteOutbox0001];

/** The version of a part in this file; 0 if the part is missing. */
export function schemaVersion(db: DatabaseSync, part: string): number {
  const table = db
    .prepare("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'tidegate_schema'")
    .get();
  if (table === undefined) return 0;
  const row = db.prepare("SELECT version FROM tidegate_schema WHERE part = ?").get(part);
  return row === undefined ? 0 : Number(row.version);
}

/** The migrations that are missing; throws if the file is newer (M3). */
export function missingSqliteMigrations(
  db: DatabaseSync,
  part: string,
  migrations: readonly string[],
): readonly string[] {
  const version = schemaVersion(db, part);
  if (version > migrations.length) {
    const message = `the ${part} has schema ${version}; this release supports up to ${migrations.length}`;
    throw new TidegateError("TG_STORE_NEWER", message);
  }
  return migrations.slice(version);
}

/** Runs missing migrations in one transaction; safe when several processes start at once. */
export function migrateSqlite(db: DatabaseSync, part: string, migrations: readonly string[]): void {
  if (missingSqliteMigrations(db, part, migrations).length === 0) return;
  inSqliteTransaction(db, () => {
    db.exec(
      `CREATE TABLE IF NOT EXISTS tidegate_schema
        (part TEXT PRIMARY KEY, version INTEGER NOT NULL)`,
    );
    // Another process may have come first; only now, with the lock held, is the answer final.
    for (const sql of missingSqliteMigrations(db, part, migrations)) db.exec(sql);
    db.prepare("INSERT OR REPLACE INTO tidegate_schema VALUES (?, ?)").run(part, migrations.length);
  });
}
