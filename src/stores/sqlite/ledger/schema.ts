// Schema: brings a SQLite file to the tables this version knows.
//   M1. Parts (the ledger, the outbox) count their versions apart, so that they may share a file
//       with each other and with a user's own tables; nothing of the file itself is claimed.
//   M2. A migration is never changed once released; the next one follows it.
//   M3. A file of a newer version is refused with TG_STORE_NEWER and left as it is.

import type { DatabaseSync } from "node:sqlite";
import { TidegateError } from "../../../core/errors.ts";
import { sqliteLedger0001 } from "./migrations/0001-ledger.ts";
import { sqliteOutbox0001 } from "./migrations/0001-outbox.ts";
import { sqliteLedger0002 } from "./migrations/0002-notes.ts";
import { inSqliteTransaction } from "./transaction.ts";

export const SQLITE_LEDGER_MIGRATIONS: readonly string[] = [sqliteLedger0001, sqliteLedger0002];
export const SQLITE_OUTBOX_MIGRATIONS: readonly string[] = [sqliteOutbox0001];

/** The version of a part in this file; 0 when it has none. */
export function schemaVersion(db: DatabaseSync, part: string): number {
  const known = db
    .prepare("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'tidegate_schema'")
    .get();
  if (known === undefined) return 0;
  const row = db.prepare("SELECT version FROM tidegate_schema WHERE part = ?").get(part);
  return row === undefined ? 0 : Number(row.version);
}

/** Refuses a newer file (M3) and tells which migrations are missing. */
export function missingSqliteMigrations(
  db: DatabaseSync,
  part: string,
  migrations: readonly string[],
): readonly string[] {
  const version = schemaVersion(db, part);
  if (version > migrations.length) {
    const message = `the ${part} has schema ${version}; this version knows ${migrations.length}`;
    throw new TidegateError("TG_STORE_NEWER", message);
  }
  return migrations.slice(version);
}

/** Runs what is missing in one transaction; safe when several processes start at once. */
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
