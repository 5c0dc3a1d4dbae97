// Checkpoints: folds the write-ahead log into the database file, in place of SQLite's automatic
// checkpoints, whose errors SQLite ignores.
//   K1. A checkpoint runs once the log holds `pages` pages, looked at every few commits, and when
//       the connection closes.
//   K2. After a failed checkpoint, or a commit that failed, nothing is written through this
//       connection any more. SQLite may count pages as folded that never reached the disk, and
//       would reset the log that has them. The file is renewed before it is used again
//       (renew-log.ts).
//   K3. SQLite folds the log when the last connection closes, without a mark, and ignores the
//       errors. So nothing may be left to fold by then. After a failure (K2), or if the last fold
//       left out pages, as for a reader, a second connection stays open while this one closes.
//   K4. While the disk is full, the log is folded and cut early, so that its space is free again.
//   K5. The mark of a fold exists until its sync has succeeded (F1 of fold-mark.ts), or until it
//       is certain that no sync has failed: SQLite does not sync a fold that found no space, or
//       that left out pages because of a reader. Whatever the kernel could not write of those,
//       the sync of a later fold reports, which has not been reported yet.
//   K6. While another process has a mark, nothing is folded. If the log then grows to several times
//       its size, that process is gone or stuck, and the file has to be renewed.
//   K7. The name of the log is durable before the first commit. SQLite syncs the folder of a log
//       that it creates, and ignores the error. A power cut could then take the log with all its
//       commits.

import { existsSync, statSync } from "node:fs";
import { dirname } from "node:path";
import type { DatabaseSync, StatementSync } from "node:sqlite";
import { FoldMark, IOERR, suspectError } from "./fold-mark.ts";
import { closeUnfolded } from "./renew-log.ts";
import { behindLinks, syncPath } from "./replace-file.ts";
import { isFull, sqliteCode } from "./sqlite-code.ts";

/** Commits between two looks at the length of the log. */
const COMMITS_PER_LOOK = 16;
/** Pages of log after which it is cut on a full disk (K4). */
const CUT_PAGES = 64;
/** Time between two looks for the mark of another process (F3 of fold-mark.ts). */
const MARK_LOOK_MS = 100;
/** How many times its size the log may grow while another process has the mark (K6). */
const LOG_GROWTH_MAX = 4;
/** The first SQLite that knows NOOP; earlier ones read it as PASSIVE and fold without a mark. */
const NOOP_VERSION = [3, 51] as const;
const LOG_HEADER_BYTES = 32;
const FRAME_HEADER_BYTES = 24;

export interface CheckpointOptions {
  readonly path: string;
  readonly pages: number;
  readonly commitsPerLook?: number | undefined;
  /** Never folds. Default: false. */
  readonly readOnly?: boolean;
  /** Default: the version of the SQLite of this process. */
  readonly sqliteVersion?: string | undefined;
}

export class Checkpoints {
  /** The number of pages in the log. */
  readonly #logLength: () => number;
  readonly #fold: StatementSync;
  readonly #cut: StatementSync;
  readonly #database: DatabaseSync;
  readonly #mark: FoldMark;
  readonly #path: string;
  readonly #pages: number;
  readonly #commitsPerLook: number;
  readonly #readOnly: boolean;
  #commits = 0;
  #failure: unknown = null;
  #lookedAt = Number.NEGATIVE_INFINITY;

  constructor(database: DatabaseSync, options: CheckpointOptions) {
    database.exec("PRAGMA wal_autocheckpoint = 0");
    this.#logLength = isNoopKnown(database, options) // F1 of fold-mark.ts
      ? noopLength(database)
      : fileLength(database, options.path);
    this.#fold = database.prepare("PRAGMA wal_checkpoint(PASSIVE)");
    this.#cut = database.prepare("PRAGMA wal_checkpoint(TRUNCATE)");
    this.#database = database;
    this.#mark = new FoldMark(options.path);
    this.#path = options.path;
    this.#pages = options.pages;
    this.#commitsPerLook = options.commitsPerLook ?? COMMITS_PER_LOOK;
    this.#readOnly = options.readOnly === true;
    const real = behindLinks(options.path);
    if (!this.#readOnly && existsSync(real)) syncPath(dirname(real)); // K7
  }

  /** Folds the log unless something has failed, and closes the connection (K3). */
  close(): void {
    const isDone = this.#readOnly || (this.#failure === null && this.#foldAll());
    if (isDone) this.#database.close();
    else closeUnfolded(this.#database, this.#path);
  }

  /** Why nothing is written any more, or null (K2). */
  get failure(): unknown {
    const now = performance.now();
    if (this.#failure !== null || now - this.#lookedAt < MARK_LOOK_MS) return this.#failure;
    this.#lookedAt = now;
    if (this.#mark.isFailed) this.#failure = suspectError();
    return this.#failure;
  }

  /** Throws what failed earlier (K2). Call it before a transaction begins. */
  check(): void {
    if (this.#failure !== null) throw this.#failure;
  }

  /** Runs one whole transaction, and what has to follow it. */
  around<T>(transaction: () => T): T {
    this.check();
    let value: T;
    try {
      value = transaction();
    } catch (error) {
      this.noteFailure(error);
      throw error;
    }
    this.afterCommit();
    return value;
  }

  /** A transaction failed. Call it with the error; other errors than those of the disk pass. */
  noteFailure(error: unknown): void {
    if (sqliteCode(error) === IOERR) this.#fail(error); // K2
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

  /** Whether nothing is left to fold, by this process or by another one (K1, K3). */
  #foldAll(): boolean {
    return this.#foldBeyond(1, this.#fold) && !this.#mark.exists;
  }

  /** Whether every page of the log is folded, or the log is shorter than `pages`. */
  #foldBeyond(pages: number, fold: StatementSync, freeSpace = () => false): boolean {
    try {
      const length = this.#logLength();
      if (length < pages) return true;
      if (!this.#beginFold(freeSpace)) {
        if (length >= this.#pages * LOG_GROWTH_MAX) this.#fail(suspectError()); // K6
        return false;
      }
      const result = fold.get();
      this.#mark.end();
      return result?.busy === 0 && result.checkpointed === result.log;
    } catch (error) {
      if (!isFull(error)) {
        this.#fail(error); // K2
        return false;
      }
      this.#mark.end(); // K5
      return freeSpace() && this.#foldBeyond(pages, fold); // K4
    }
  }

  /** Without a mark of its own, for whatever reason, this process does not fold. */
  #beginFold(freeSpace: () => boolean): boolean {
    try {
      return this.#mark.begin();
    } catch {
      return freeSpace() && this.#beginFold(() => false);
    }
  }

  #fail(error: unknown): void {
    this.#failure ??= error;
    this.#mark.fail();
  }
}

function isNoopKnown(database: DatabaseSync, { sqliteVersion }: CheckpointOptions): boolean {
  const version =
    sqliteVersion ?? String(database.prepare("SELECT sqlite_version() AS version").get()?.version);
  const [major = 0, minor = 0] = version.split(".").map(Number);
  return major > NOOP_VERSION[0] || (major === NOOP_VERSION[0] && minor >= NOOP_VERSION[1]);
}

function noopLength(database: DatabaseSync): () => number {
  const look = database.prepare("PRAGMA wal_checkpoint(NOOP)");
  return () => Number(look.get()?.log);
}

/** The size limit makes the log file end with its last page again once the log starts over. */
function fileLength(database: DatabaseSync, path: string): () => number {
  database.exec("PRAGMA journal_size_limit = 0");
  const pageSize = database.prepare("PRAGMA page_size");
  const log = `${behindLinks(path)}-wal`;
  return () => {
    const bytes = (statSync(log, { throwIfNoEntry: false })?.size ?? 0) - LOG_HEADER_BYTES;
    return Math.max(0, bytes) / (FRAME_HEADER_BYTES + Number(pageSize.get()?.page_size));
  };
}
