// Transaction: work on a file that commits as a whole or not at all.

import type { DatabaseSync } from "node:sqlite";

/** Takes the file's write lock before the first read, so that reads stay true until the commit. */
export function inSqliteTransaction<T>(db: DatabaseSync, work: () => T): T {
  db.exec("BEGIN IMMEDIATE");
  try {
    const value = work();
    db.exec("COMMIT");
    return value;
  } catch (error) {
    // SQLite may have rolled back by itself, for example after a full disk.
    if (db.isTransaction) db.exec("ROLLBACK");
    throw error;
  }
}
