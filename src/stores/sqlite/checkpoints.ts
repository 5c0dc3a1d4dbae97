// Checkpoints: folds the write-ahead log into the database file, in place of SQLite's automatic
// checkpoints, whose errors SQLite ignores.
//   K1. A checkpoint runs once the log holds `pages` pages, looked at every few commits.
//   K2. After a failed checkpoint nothing is written through this connection any more. SQLite may
//       count pages as folded that never reached the disk, and would reset the log that has them.
//       The next start renews the log and folds all of it (renew-log.ts).
//   K3. SQLite folds the log when the last connection closes. After a failure that must not happen
//       (K2), so a second connection stays open while the failed one closes.

import { DatabaseSync, type StatementSync } from "node:sqlite";

/** Commits between two looks at the length of the log. */
const COMMITS_PER_LOOK = 16;

export class Checkpoints {
  readonly #lookAtLog: StatementSync;
  readonly #fold: StatementSync;
  readonly #database: DatabaseSync;
  readonly #path: string;
  readonly #pages: number;
  #commits = 0;
  #failure: unknown = null;

  constructor(database: DatabaseSync, options: { readonly path: string; readonly pages: number }) {
    database.exec("PRAGMA wal_autocheckpoint = 0");
    // SQLite before 3.51 does not know NOOP and folds what it can, which is correct but earlier.
    this.#lookAtLog = database.prepare("PRAGMA wal_checkpoint(NOOP)");
    this.#fold = database.prepare("PRAGMA wal_checkpoint(PASSIVE)");
    this.#database = database;
    this.#path = options.path;
    this.#pages = options.pages;
  }

  /** Closes the connection; folds the log unless a checkpoint has failed (K3). */
  close(): void {
    const guard = this.#failure === null ? null : openGuard(this.#path);
    this.#database.close();
    guard?.close();
  }

  /** Throws what an earlier checkpoint threw (K2). Call it before a transaction begins. */
  check(): void {
    if (this.#failure !== null) throw this.#failure;
  }

  /** Call it after a commit, outside of a transaction. The commit is durable whatever happens. */
  afterCommit(): void {
    this.#commits += 1;
    if (this.#commits % COMMITS_PER_LOOK !== 0) return;
    try {
      if (Number(this.#lookAtLog.get()?.log) >= this.#pages) this.#fold.get(); // K1
    } catch (error) {
      this.#failure = error; // K2
    }
  }
}

/** A connection that only has to be open. One read makes it share the log with the others. */
export function openGuard(path: string): DatabaseSync {
  const database = new DatabaseSync(path, { readOnly: true });
  database.prepare("PRAGMA user_version").get();
  return database;
}
