// Checkpoints: folds the write-ahead log into the database file, in place of SQLite's automatic
// checkpoints, whose errors SQLite ignores.
//   K1. A checkpoint runs once the log holds `pages` pages, looked at every few commits.
//   K2. After a failed checkpoint nothing is written through this connection any more. SQLite may
//       count pages as folded that never reached the disk, and would reset the log that has them.
//       The next start renews the log and folds all of it (renew-log.ts).
//   K3. SQLite folds the log when the last connection closes. After a failure that must not happen
//       (K2), so a second connection stays open while the failed one closes.
//   K4. While the disk is full, the log is folded and cut early, so that its space is free again.

import { DatabaseSync, type StatementSync } from "node:sqlite";
import { isFull } from "../../ledger/sql/sqlite-code.ts";

/** Commits between two looks at the length of the log. */
const COMMITS_PER_LOOK = 16;
/** Pages of log after which it is cut on a full disk (K4). */
const CUT_PAGES = 64;
/** How long a guard waits for another process that has the file locked while it starts (K3). */
const GUARD_BUSY_MS = 5_000;

export interface CheckpointOptions {
  readonly path: string;
  readonly pages: number;
  readonly commitsPerLook?: number | undefined;
}

export class Checkpoints {
  readonly #lookAtLog: StatementSync;
  readonly #fold: StatementSync;
  readonly #cut: StatementSync;
  readonly #database: DatabaseSync;
  readonly #path: string;
  readonly #pages: number;
  readonly #commitsPerLook: number;
  #commits = 0;
  #failure: unknown = null;

  constructor(database: DatabaseSync, options: CheckpointOptions) {
    database.exec("PRAGMA wal_autocheckpoint = 0");
    // SQLite before 3.51 does not know NOOP and folds what it can, which is correct but earlier.
    this.#lookAtLog = database.prepare("PRAGMA wal_checkpoint(NOOP)");
    this.#fold = database.prepare("PRAGMA wal_checkpoint(PASSIVE)");
    this.#cut = database.prepare("PRAGMA wal_checkpoint(TRUNCATE)");
    this.#database = database;
    this.#path = options.path;
    this.#pages = options.pages;
    this.#commitsPerLook = options.commitsPerLook ?? COMMITS_PER_LOOK;
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
    if (this.#commits % this.#commitsPerLook === 0) this.#foldBeyond(this.#pages, this.#fold); // K1
  }

  /** As `afterCommit`, while the disk is full; `freeSpace` returns whether it freed some (K4). */
  cut(freeSpace: () => boolean): void {
    this.#foldBeyond(Math.min(CUT_PAGES, this.#pages), this.#cut, freeSpace);
  }

  #foldBeyond(pages: number, fold: StatementSync, freeSpace = () => false): void {
    try {
      if (Number(this.#lookAtLog.get()?.log) >= pages) fold.get();
    } catch (error) {
      // A checkpoint without space has synced nothing, so it may run again (K4).
      if (isFull(error) && freeSpace()) this.#foldBeyond(pages, fold);
      else this.#failure = error; // K2
    }
  }
}

/** A connection that only has to be open. One read makes it share the log with the others. */
export function openGuard(path: string): DatabaseSync {
  const database = new DatabaseSync(path, { readOnly: true, timeout: GUARD_BUSY_MS });
  database.prepare("PRAGMA user_version").get();
  return database;
}
