// Replace file: the one way in which a file of a store takes the place of another.
//   P1. The new file is complete and synced before it gets the name, and the folder is synced
//       afterwards. A crash at any step leaves the old file or the new one.
//   P2. A file whose write or sync failed is deleted. The next attempt writes a file of its own:
//       after a failed sync, a later one of the same file can succeed without writing anything.

import {
  closeSync,
  existsSync,
  fstatSync,
  fsyncSync,
  openSync,
  readSync,
  realpathSync,
  renameSync,
  rmSync,
  writeSync,
} from "node:fs";
import { dirname } from "node:path";

const COPY_BYTES = 1_024 * 1_024;

/** Ends the name of a file that is not complete yet. */
export const DRAFT_SUFFIX = ".new";

/** Called while a file is copied, with the bytes of it that are copied so far. */
export type CopyProgress = (bytes: number) => void;

/** Copies what an open file shows into a new file, which then takes the name `path`. */
export function copyInPlaceOf(path: string, source: number, onCopied?: CopyProgress): void {
  const draft = `${path}${DRAFT_SUFFIX}`;
  removeDraft(draft);
  try {
    const target = openSync(draft, "wx", fstatSync(source).mode & 0o777);
    try {
      copyBytes(source, target, onCopied);
      fsyncSync(target);
    } finally {
      closeSync(target);
    }
    putInPlace(draft, path);
  } catch (error) {
    removeDraft(draft); // P2
    throw error;
  }
}

/** Deletes an unfinished file, with what SQLite keeps beside it and would apply to the next one. */
export function removeDraft(draft: string): void {
  for (const suffix of ["", "-wal", "-shm", "-journal", "-folding", "-failed"]) {
    rmSync(`${draft}${suffix}`, { force: true });
  }
}

/** Gives a complete, synced file its name (P1). */
export function putInPlace(draft: string, path: string): void {
  renameSync(draft, path);
  syncPath(dirname(path));
}

function copyBytes(source: number, target: number, onCopied: CopyProgress = () => {}): void {
  const buffer = Buffer.allocUnsafe(COPY_BYTES);
  for (let at = 0; ; ) {
    const bytes = readSync(source, buffer, 0, buffer.length, at);
    if (bytes === 0) return;
    for (let written = 0; written < bytes; ) {
      written += writeSync(target, buffer, written, bytes - written, at + written);
    }
    at += bytes;
    onCopied(at);
  }
}

/** The file behind a link: SQLite keeps the log beside it, and a rename would replace a link. */
export function behindLinks(path: string): string {
  return existsSync(path) ? realpathSync(path) : path;
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
