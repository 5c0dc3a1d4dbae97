// Open file: a connection to the SQLite file that has the name now. Another process may give the
// name to a new file (N6 of renew-log.ts) while this one is between opening and its first read,
// which is what keeps others from doing so.

import { statSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { FoldMark, noteFailedWrite } from "./fold-mark.ts";
import { closeUnfolded, foldLog } from "./renew-log.ts";
import { createOnce, syncPath } from "./replace-file.ts";

const OPENINGS_MAX = 5;

/** Opens a connection that reads; again, if the name has moved to another file meanwhile. */
export function openSettled(path: string, open: () => DatabaseSync): DatabaseSync {
  for (let count = 1; ; count += 1) {
    const before = identityOf(path);
    const database = open();
    if (before === null || before === identityOf(path) || count === OPENINGS_MAX) return database;
    database.close();
  }
}

export function openForWriting(path: string, timeout: number): DatabaseSync {
  return openSettled(path, () => {
    const database = new DatabaseSync(path, { timeout });
    try {
      database.prepare("PRAGMA user_version").get();
      return database;
    } catch (error) {
      database.close();
      throw error;
    }
  });
}

/** Runs `work` on a new connection; if it fails, closes the connection without folding the log. */
export function orClosed<T>(database: DatabaseSync, path: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    try {
      closeUnfolded(database, path);
    } catch {
      // The connection is closed; report the error that led here.
    }
    throw error;
  }
}

/** Creates the database `path` with what `fill` writes, unless it exists (P3 of replace-file.ts). */
export function createDatabase(path: string, fill: (database: DatabaseSync) => void): void {
  createOnce(path, (draft) =>
    buildDatabase(draft, (database) => {
      database.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;");
      fill(database);
    }),
  );
}

/** Makes an empty or missing file a whole database, folded and synced. `fill` gives it its log. */
export function buildDatabase(path: string, fill: (database: DatabaseSync) => void): void {
  const database = new DatabaseSync(path);
  try {
    fill(database);
    foldLog(database, path); // SQLite ignores the errors of the fold when it closes.
  } catch (error) {
    closeUnfolded(database, path);
    throw error;
  }
  database.close();
  syncPath(path);
}

/**
 * Runs `work`, which creates tables in a file that exists. Until the file has a write-ahead log,
 * SQLite writes them into the file itself, so this counts as a fold (F1 of fold-mark.ts).
 */
export function creatingTables(database: DatabaseSync, path: string, work: () => void): void {
  const mode = database.prepare("PRAGMA journal_mode").get()?.journal_mode;
  const mark = mode === "wal" ? null : new FoldMark(path);
  const isOwn = mark?.begin() ?? false;
  try {
    work();
  } catch (error) {
    noteFailedWrite(path, error);
    throw error;
  }
  if (isOwn) mark?.end();
}

function identityOf(path: string): string | null {
  const stats = statSync(path, { bigint: true, throwIfNoEntry: false });
  return stats === undefined ? null : `${stats.dev}:${stats.ino}`;
}
