// Compact file: gives the space of deleted rows in a SQLite file back to the disk. For files that
// other programs may open as well, such as a ledger, an outbox, or a sink's tables beside them.
//   C1. SQLite's own VACUUM rewrites the file in one transaction. A crash leaves the file as it
//       was, or compacted. To another process that opens it in the meantime, it is busy.
//   C2. A file that another process has open is refused: its log could not be cut, so no space
//       would be given back.
//   C3. The log of an earlier process is renewed first (renew-log.ts).

import { statfsSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { reasonOf, TidegateError } from "../../core/errors.ts";
import { isCorrupt, isFull } from "../../ledger/sql/sqlite-code.ts";
import { foldLog, isInUse, renewLog } from "./renew-log.ts";

/** A file that was compacted, and its sizes. */
export interface CompactReport {
  readonly path: string;
  readonly beforeBytes: number;
  readonly afterBytes: number;
}

/** Called before the work begins, with the size of the data that will be copied. */
export type CompactProgress = (path: string, liveBytes: number) => void;

/** The log and SQLite's temporary file hold a copy each, until the end. */
const COPIES = 2;

export function compactSqliteFile(path: string, onProgress: CompactProgress): CompactReport {
  const beforeBytes = statSync(path).size;
  try {
    const log = renewLog(path); // C3
    if (log === "in-use" || isInUse(path)) throw fileInUse(path); // C2
    const database = new DatabaseSync(path, { timeout: 0 });
    try {
      database.exec("PRAGMA synchronous = FULL; PRAGMA locking_mode = EXCLUSIVE");
      const liveBytes = liveBytesOf(database);
      requireSpace(path, liveBytes * COPIES);
      onProgress(path, liveBytes);
      database.exec("VACUUM"); // C1
      foldLog(database);
    } finally {
      database.close();
    }
  } catch (error) {
    throw compactFault(error, path);
  }
  return { path, beforeBytes, afterBytes: statSync(path).size };
}

/** The bytes of pages in use. */
export function liveBytesOf(database: DatabaseSync): number {
  const pragma = (name: string) => Number(database.prepare(`PRAGMA ${name}`).get()?.[name]);
  return (pragma("page_count") - pragma("freelist_count")) * pragma("page_size");
}

/** Throws TG_STORE_FULL with what is needed and what there is. */
export function requireSpace(path: string, neededBytes: number): void {
  const { bavail, bsize } = statfsSync(dirname(path));
  const freeBytes = bavail * bsize;
  if (freeBytes >= neededBytes) return;
  const message =
    `${path} cannot be compacted: this needs ${megabytes(neededBytes)} of free disk space, ` +
    `and ${megabytes(freeBytes)} are free`;
  throw new TidegateError("TG_STORE_FULL", message);
}

export function megabytes(bytes: number): string {
  return `${(bytes / 1_000_000).toFixed(1)} MB`;
}

export function fileInUse(path: string): TidegateError {
  return new TidegateError("TG_STORE_LOCKED", `${path} is in use by another process`);
}

/** An error of SQLite or of the disk as an operating failure; the old file is unchanged. */
export function compactFault(error: unknown, path: string): unknown {
  if (error instanceof TidegateError || !(error instanceof Error && "code" in error)) return error;
  const code = isFull(error)
    ? "TG_STORE_FULL"
    : isCorrupt(error)
      ? "TG_STORE_CORRUPT"
      : "TG_STORE_UNAVAILABLE";
  return new TidegateError(code, `${path} cannot be compacted: ${reasonOf(error)}`, {
    cause: error,
  });
}
