// Compact file: gives the space of deleted rows in a SQLite file back to the disk. For files that
// other programs may open as well, such as a ledger, an outbox, or a sink's tables beside them.
//   C1. The live rows are copied into a new file, which takes the old one's name once it is synced
//       (replace-file.ts). A crash leaves the file as it was, or compacted. To another process that
//       opens it in the meantime, it is busy.
//   C2. A file that another process has open is refused: its log could not be cut, so no space
//       would be given back.
//   C3. The log of an earlier process is renewed first (renew-log.ts).
//   C4. If the folder cannot be synced after the rename, a mark stays (F1 of fold-mark.ts). So the
//       next open writes another copy and syncs its name, before anything is acknowledged in it.

import { rmSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { reasonOf, TidegateError } from "../../core/errors.ts";
import { clearMarks, FoldMark } from "./fold-mark.ts";
import { freeBytesOf, megabytes, renewLog, whileLocked } from "./renew-log.ts";
import { behindLinks, DRAFT_SUFFIX, putInPlace, removeDraft, syncPath } from "./replace-file.ts";
import { isCorrupt, isFull } from "./sqlite-code.ts";

/** A file that was compacted, and its sizes. */
export interface CompactReport {
  readonly path: string;
  readonly beforeBytes: number;
  readonly afterBytes: number;
}

/** Called before the work begins, with the size of the data that will be copied. */
export type CompactProgress = (path: string, liveBytes: number) => void;

export function compactSqliteFile(path: string, onProgress: CompactProgress): CompactReport {
  const beforeBytes = statSync(path).size;
  try {
    if (renewLog(path) === "in-use") throw fileInUse(path); // C2, C3
    const outcome = whileLocked(behindLinks(path), (database) => {
      const liveBytes = liveBytesOf(database);
      requireSpace(path, liveBytes);
      onProgress(path, liveBytes);
      replaceByCompactCopy(database, behindLinks(path));
      return "moved";
    });
    if (outcome === "in-use") throw fileInUse(path); // C2
  } catch (error) {
    throw compactFault(error, path);
  }
  return { path, beforeBytes, afterBytes: statSync(path).size };
}

/** C1 */
function replaceByCompactCopy(database: DatabaseSync, path: string): void {
  const draft = `${path}${DRAFT_SUFFIX}`;
  removeDraft(draft);
  try {
    database.prepare("VACUUM INTO ?").run(draft);
    const copy = new DatabaseSync(draft);
    try {
      copy.exec("PRAGMA journal_mode = WAL");
    } finally {
      copy.close();
    }
    putCompactInPlace(draft, path);
  } catch (error) {
    removeDraft(draft);
    throw error;
  }
}

/** As `putInPlace`, for a database whose log has been folded: SQLite would apply it to the copy. */
export function putCompactInPlace(draft: string, path: string): void {
  syncPath(draft);
  for (const suffix of ["-wal", "-shm"]) rmSync(`${path}${suffix}`, { force: true });
  syncPath(dirname(path));
  if (!new FoldMark(path).begin()) throw fileInUse(path);
  putInPlace(draft, path); // C4
  clearMarks(path);
}

/** The bytes of pages in use. */
export function liveBytesOf(database: DatabaseSync): number {
  const pragma = (name: string) => Number(database.prepare(`PRAGMA ${name}`).get()?.[name]);
  return (pragma("page_count") - pragma("freelist_count")) * pragma("page_size");
}

/** Throws TG_STORE_FULL with what is needed and what there is. */
export function requireSpace(path: string, neededBytes: number): void {
  const freeBytes = freeBytesOf(dirname(path));
  if (freeBytes >= neededBytes) return;
  const message =
    `${path} cannot be compacted: this needs ${megabytes(neededBytes)} of free disk space, ` +
    `and ${megabytes(freeBytes)} are free`;
  throw new TidegateError("TG_STORE_FULL", message);
}

export function fileInUse(path: string): TidegateError {
  return new TidegateError("TG_STORE_LOCKED", `${path} is in use by another process`);
}

/**
 * An error of SQLite or of the disk as an operating failure. The file is the old one, or the
 * complete new one, which the next open copies again (C4).
 */
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
