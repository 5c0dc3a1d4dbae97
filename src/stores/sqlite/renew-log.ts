// Log renewal: makes the visible content of a SQLite write-ahead log durable before anything is
// acknowledged on top of it.
//   N1. After a failed sync the kernel may show pages that never reached the disk and never will:
//       it marks them clean. Frames written behind such a hole are lost with the next power cut, or
//       when the page cache drops the page. The next process cannot see the hole either.
//   N2. So a log that an earlier connection left behind is copied into a new file. The copy is
//       synced, takes the old log's name, and the folder is synced. Until then the old log stays
//       valid on disk, from then on the new one is: a crash at any step finds one of the two.
//   N3. Only then is the log folded into the database file. Folding first would overwrite pages
//       with content that the log on disk does not have; a power cut in between would mix both.
//   N4. A log in use by another connection is left alone: its owner knows which frames are durable.

import {
  closeSync,
  fstatSync,
  fsyncSync,
  openSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from "node:fs";
import { dirname } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { isBusy } from "../../ledger/sql/sqlite-code.ts";

const COPY_BYTES = 1_024 * 1_024;

const logOf = (path: string) => `${path}-wal`;

/** Whether the database has a log with content. Another process may delete the log at any time. */
export function hasLog(path: string): boolean {
  return (statSync(logOf(path), { throwIfNoEntry: false })?.size ?? 0) > 0;
}

/** Renews the log of the database at `path`, if there is one and no other connection uses it. */
export function renewLog(path: string): "renewed" | "no-log" | "in-use" {
  if (!hasLog(path)) return "no-log";
  const database = new DatabaseSync(path, { timeout: 0 });
  try {
    if (!lockExclusively(database)) return "in-use"; // N4
    copyDurably(logOf(path)); // N2
    foldLog(database); // N3
    return "renewed";
  } finally {
    database.close();
  }
}

/** Whether another connection has the database open. Folds the log, so renew that first. */
export function isInUse(path: string): boolean {
  const database = new DatabaseSync(path, { timeout: 0 });
  try {
    return !lockExclusively(database);
  } finally {
    database.close();
  }
}

/** Folds the whole log into the database file; throws if it could not be synced. */
export function foldLog(database: DatabaseSync): void {
  const result = database.prepare("PRAGMA wal_checkpoint(TRUNCATE)").get();
  if (Number(result?.busy) !== 0) {
    throw Object.assign(new Error("the write-ahead log is in use"), { code: "ERR_LOG_IN_USE" });
  }
}

function lockExclusively(database: DatabaseSync): boolean {
  try {
    database.exec("PRAGMA synchronous = FULL; PRAGMA locking_mode = EXCLUSIVE");
    database.exec("BEGIN IMMEDIATE; COMMIT");
    return true;
  } catch (error) {
    if (isBusy(error)) return false;
    throw error;
  }
}

function copyDurably(path: string): void {
  const draft = `${path}.new`;
  rmSync(draft, { force: true });
  const source = openSync(path, "r");
  try {
    const target = openSync(draft, "wx", fstatSync(source).mode & 0o777);
    try {
      copyBytes(source, target);
      fsyncSync(target);
    } finally {
      closeSync(target);
    }
  } finally {
    closeSync(source);
  }
  renameSync(draft, path);
  syncPath(dirname(path));
}

function copyBytes(source: number, target: number): void {
  const buffer = Buffer.allocUnsafe(COPY_BYTES);
  for (let at = 0; ; ) {
    const bytes = readSync(source, buffer, 0, buffer.length, at);
    if (bytes === 0) return;
    for (let written = 0; written < bytes; ) {
      written += writeSync(target, buffer, written, bytes - written, at + written);
    }
    at += bytes;
  }
}

/** Syncs a file or a folder by its path. */
export function syncPath(path: string): void {
  const descriptor = openSync(path, "r");
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
