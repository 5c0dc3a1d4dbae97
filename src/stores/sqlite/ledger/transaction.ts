// Transaction: work on a file that is done as a whole or not at all.

import type { DatabaseSync } from "node:sqlite";

/** Takes the file's write lock before anything is read, so that what was read stays true. */
export function inSqliteTransaction<T>(db: DatabaseSync, work: () => T): T {
  db.exec("BEGIN IMMEDIATE");
  try {
    const value = work();
    db.exec("COMMIT");
    return value;
  } catch (error) {
    // SQLite has rolled back on its own after a full disk, for one.
    if (db.isTransaction) db.exec("ROLLBACK");
    throw error;
  }
}
