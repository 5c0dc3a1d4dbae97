// Log renewal: makes the visible content of a SQLite file and of its write-ahead log durable before
// anything is acknowledged on top of it. Decision record 0030 has the states and the argument.
//   N1. After a failed sync the kernel may show pages that never reached the disk and never will:
//       it marks them clean. Writing them again into the same file proves nothing, not even after
//       a sync without errors. The next process cannot see the hole either.
//   N2. So a log that an earlier connection left behind is copied into a new file. The copy is
//       synced, takes the old log's name, and the folder is synced. Until then the old log stays
//       valid on disk, from then on the new one is: a crash at any step finds one of the two.
//   N3. Only then is the log folded into the database file. Folding first would overwrite pages
//       with content that the log on disk does not have; a power cut in between would mix both.
//   N4. A log in use by another connection is left alone: its owner knows which frames are durable.
//   N5. A database file whose fold is open (F1 of fold-mark.ts) is not folded into. It is copied as
//       a whole into a new file, which takes its name as in N2. Each page in doubt is also in the
//       log, because a log is reset only after the fold of all of it was synced; what the copy has
//       in such a page does not matter.
//   N6. The rename happens while this connection has the file locked exclusively, so no other one
//       has the old file open. A process that opened it by name without reading yet finds that the
//       name has moved on, and opens it again (open-file.ts).
//   N7. A connection that is not done does not fold as it closes, although it may be the last one:
//       a guard is open meanwhile. If none can be opened, as without a free descriptor, the file is
//       marked before, and the mark stays unless SQLite has deleted the log, which it does only
//       after the fold was synced. While another connection has the file locked, nothing is folded.
//   N8. Without space for N5, the log may be renewed alone. Then all that a connection reads is
//       durable, because the log overrides each page in doubt, and so are commits that are added to
//       the log. The mark stays, so nothing is folded until the file is renewed as well.

import { closeSync, fstatSync, openSync, rmSync, statfsSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { clearMarks, FoldMark, IOERR, isFoldOpen, isMarkedFailed } from "./fold-mark.ts";
import { behindLinks, copyInPlaceOf } from "./replace-file.ts";
import { isBusy } from "./sqlite-code.ts";

const logOf = (path: string) => `${path}-wal`;

/** Receives a line when the copy of a database file begins, while it runs, and when it is done. */
export type RenewReport = (line: string) => void;

/** How long a guard waits for another process that has the file locked while it starts. */
const GUARD_BUSY_MS = 5_000;
const PROGRESS_BYTES = 64 * 1_024 * 1_024;

/** Whether the database has a log with content. Another process may delete the log at any time. */
export function hasLog(path: string): boolean {
  return sizeOf(logOf(path)) > 0;
}

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}

/**
 * Renews the log of the database at `named`, and the database file if it is in doubt, unless
 * another connection uses them. Afterwards the log is folded.
 */
export function renewLog(
  named: string,
  report: RenewReport = () => undefined,
): "renewed" | "no-log" | "in-use" {
  const path = behindLinks(named);
  const isMarked = isFoldOpen(path) || isMarkedFailed(path);
  if (!hasLog(path) && !isMarked) return "no-log";
  if (isMarked && statSync(path, { throwIfNoEntry: false }) === undefined) {
    clearMarks(path); // Of a file that is gone.
    return "no-log";
  }
  const outcome = whileLocked(path, () => {
    const isInDoubt = isFoldOpen(path);
    requireRoom(path, sizeOf(logOf(path)) + (isInDoubt ? sizeOf(path) : 0));
    if (hasLog(path)) renewLogFile(path); // N2
    if (isInDoubt) renewFile(path, report); // N5
    clearMarks(path);
    return isInDoubt ? "moved" : "unfolded";
  });
  if (outcome === "in-use") return "in-use"; // N4
  // Through another connection: this one had the old log open.
  const folded = whileLocked(path, (database) => {
    foldLog(database, path); // N3
    return "folded";
  });
  if (outcome === "moved") report(`${path} is in a new file now; it is written again`);
  return folded === "in-use" ? "in-use" : "renewed";
}

/** Renews the log of a file in doubt, and leaves the file and its mark as they are (N8). */
export function renewLogAlone(named: string): "renewed" | "in-use" {
  const path = behindLinks(named);
  const outcome = whileLocked(path, () => {
    requireRoom(path, sizeOf(logOf(path)));
    if (hasLog(path)) renewLogFile(path); // N2
    return "unfolded";
  });
  return outcome === "in-use" ? "in-use" : "renewed";
}

/** As `renewLog`, for a file that other processes may have open; throws if it waits for them. */
export function renewShared(path: string): void {
  if (renewLog(path, warnOfRenewal) !== "in-use" || !isMarkedFailed(behindLinks(path))) return;
  const message =
    "a write to the file has failed, and it is renewed as soon as no other process has it open";
  throw Object.assign(new Error(message), { code: "ERR_LOG_IN_USE", errcode: IOERR });
}

/** Where the lines go: a store has no log of its own. */
export function warnOfRenewal(line: string): void {
  process.emitWarning(line);
}

/** Whether another connection has the database open. */
export function isInUse(named: string): boolean {
  return whileLocked(behindLinks(named), () => "unfolded") === "in-use";
}

/** Folds the whole log into the database file; throws if it could not be marked or synced. */
export function foldLog(database: DatabaseSync, path: string): void {
  const mark = new FoldMark(path);
  if (!mark.begin()) throw inUseError();
  const result = database.prepare("PRAGMA wal_checkpoint(TRUNCATE)").get();
  if (Number(result?.busy) !== 0) throw inUseError();
  mark.end();
}

function inUseError(): Error {
  return Object.assign(new Error("the write-ahead log is in use"), { code: "ERR_LOG_IN_USE" });
}

/** A connection that only has to be open. One read makes it share the log with the others. */
export function openGuard(path: string): DatabaseSync {
  const database = new DatabaseSync(path, { readOnly: true, timeout: GUARD_BUSY_MS });
  database.prepare("PRAGMA user_version").get();
  return database;
}

/** What became of the file: the log is folded into it, or is not, or another file has its name. */
type Outcome = "folded" | "unfolded" | "moved";

/** Runs `work` while no other connection has the database open. */
export function whileLocked(
  path: string,
  work: (database: DatabaseSync) => Outcome,
): Outcome | "in-use" {
  const database = new DatabaseSync(path, { timeout: 0 });
  let outcome: Outcome = "unfolded";
  try {
    if (!lockExclusively(database)) return "in-use";
    outcome = work(database);
    return outcome;
  } finally {
    if (outcome === "unfolded")
      closeUnfolded(database, path); // N7
    else database.close(); // A file that has moved is not folded into.
  }
}

/** The first read is not exclusive: otherwise SQLite could not share the log again (N7). */
function lockExclusively(database: DatabaseSync): boolean {
  try {
    database.prepare("PRAGMA user_version").get();
    database.exec("PRAGMA synchronous = FULL; PRAGMA locking_mode = EXCLUSIVE");
    database.exec("BEGIN IMMEDIATE; COMMIT");
    return true;
  } catch (error) {
    if (isBusy(error)) return false;
    throw error;
  }
}

/**
 * SQLite folds when the last connection that may write closes. So a second one, which only reads,
 * is open while this one closes.
 */
export function closeUnfolded(database: DatabaseSync, named: string): void {
  const path = behindLinks(named);
  let guard: DatabaseSync | null = null;
  try {
    if (hasLog(path)) {
      database.exec("PRAGMA locking_mode = NORMAL");
      database.prepare("SELECT 1 FROM sqlite_schema").get(); // Shares the lock again.
      guard = openGuard(path);
    }
  } catch (error) {
    if (isBusy(error)) database.close();
    else closeMarked(database, path);
    throw error;
  }
  try {
    database.close();
  } finally {
    guard?.close();
  }
}

/** Closes a connection without a guard (N7). */
function closeMarked(database: DatabaseSync, path: string): void {
  const mark = new FoldMark(path);
  let isOwn = false;
  try {
    isOwn = mark.begin();
  } finally {
    database.close();
  }
  if (isOwn && !hasLog(path)) mark.end();
}

function renewLogFile(path: string): void {
  const log = openSync(logOf(path), "r"); // SQLite has no locks on a log.
  try {
    copyInPlaceOf(logOf(path), log);
  } finally {
    closeSync(log);
  }
}

function renewFile(path: string, report: RenewReport): void {
  const { source, identity } = sourceOf(path);
  const { size } = fstatSync(source);
  report(`${inDoubt(path)}: copying ${megabytes(size)} into a new file`);
  rmSync(`${path}-shm`, { force: true }); // Those who open the new file get an index of their own.
  let reported = 0;
  copyInPlaceOf(path, source, (bytes) => {
    if (bytes - reported < PROGRESS_BYTES) return;
    reported = bytes;
    report(`copied ${megabytes(bytes)} of ${megabytes(size)} of ${path}`);
  });
  sources.delete(identity);
  closeSync(source); // No one else has the file open, and its name is gone.
}

/** Also true after a process was killed between two writes, and only its log is left. */
function inDoubt(path: string): string {
  return `${path} was not closed properly, or a write to it failed`;
}

/** Bytes that the disk of a folder has for this process. */
export function freeBytesOf(folder: string): number {
  const { bavail, bsize } = statfsSync(folder);
  return bavail * bsize;
}

/** Not found out by writing: the copy would take what is left from the log meanwhile. */
function requireRoom(path: string, neededBytes: number): void {
  const freeBytes = freeBytesOf(dirname(path));
  if (freeBytes >= neededBytes) return;
  const message =
    `${inDoubt(path)}, so it needs ${megabytes(neededBytes)} of disk space for a new file, ` +
    `and ${megabytes(freeBytes)} are free; it continues by itself once they are`;
  throw Object.assign(new Error(message), { code: "ENOSPC", neededBytes, freeBytes });
}

export function megabytes(bytes: number): string {
  return `${(bytes / 1_000_000).toFixed(1)} MB`;
}

/**
 * Descriptors of files to copy, by identity. Closing one would drop the locks that SQLite has on
 * the same file for any thread of this process. So it stays open until the file has lost its name.
 */
const sources = new Map<string, number>();

function sourceOf(path: string): { source: number; identity: string } {
  const { dev, ino } = statSync(path, { bigint: true });
  const identity = `${dev}:${ino}`;
  const source = sources.get(identity) ?? openSync(path, "r");
  sources.set(identity, source);
  return { source, identity };
}
