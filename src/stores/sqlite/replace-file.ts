// Replace file: the one way in which a file of a store takes the place of another.
//   P1. The new file is complete and synced before it gets the name, and the folder is synced
//       afterwards. A crash at any step leaves the old file or the new one.
//   P2. A file whose write or sync failed is deleted. The next attempt writes a file of its own:
//       after a failed sync, a later one of the same file can succeed without writing anything.
//   P3. A new file that several processes may create at once is a draft of each of them, under a
//       name of its own. It gets its name by a link, which fails if the name exists: the first one
//       wins, and no file that is in use is replaced. The others use the winner's file.
//   P4. A draft that is left when the name exists is removed after the folder is synced: the
//       process that made the link may not have come to that.

import {
  closeSync,
  existsSync,
  fstatSync,
  fsyncSync,
  linkSync,
  lstatSync,
  openSync,
  readdirSync,
  readSync,
  realpathSync,
  renameSync,
  rmSync,
  writeSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";

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
  for (const suffix of ["-wal", "-shm", "-journal", "-folding", "-failed", ""]) {
    rmSync(`${draft}${suffix}`, { force: true });
  }
}

/** Without a folder entry: SQLite keeps such a database in memory, or in a file of its own. */
const NAMELESS = new Set(["", ":memory:"]);
/** SQLite would apply these to a new file, and deletes them beside an empty one. */
const LEFT_BY_ANOTHER = ["-wal", "-journal"];
/** The file system has no links. */
const NO_LINKS = new Set(["EPERM", "ENOSYS", "ENOTSUP", "EOPNOTSUPP"]);
const DRAFT_END = /^\d+\.new$/;
/** As SQLite creates files. */
const MODE = 0o644;

/**
 * Creates the file `path`, unless it exists, from a draft that `build` completes and syncs (P3).
 * Creates nothing if that cannot be safe: without links, or beside the log of a deleted file.
 */
export function createOnce(path: string, build: (draft: string) => void): void {
  if (NAMELESS.has(path)) return;
  if (isName(path)) {
    removeDraftsOf(path); // P4
    return;
  }
  if (LEFT_BY_ANOTHER.some((suffix) => isName(`${path}${suffix}`))) return;
  const draft = newDraftOf(path);
  try {
    build(draft);
    linkSync(draft, path);
  } catch (error) {
    if (!isName(path)) {
      removeDraft(draft); // P2
      if (NO_LINKS.has(codeOf(error))) return;
      throw error;
    }
  }
  removeDraftsOf(path); // P4
}

/** Whether the folder has the name, also of a link to nothing. */
export function isName(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
}

/** The path of a new, empty file that is this call's alone. */
function newDraftOf(path: string): string {
  for (let number = 1; ; number += 1) {
    const draft = `${path}.${number}${DRAFT_SUFFIX}`;
    try {
      closeSync(openSync(draft, "wx", MODE));
      return draft;
    } catch (error) {
      if (codeOf(error) !== "EEXIST") throw error;
    }
  }
}

/** The operating system's code of an error; empty without one. */
export function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : "";
}

function removeDraftsOf(path: string): void {
  const folder = dirname(path);
  const start = `${basename(path)}.`;
  const drafts = readdirSync(folder).filter(
    (name) => name.startsWith(start) && DRAFT_END.test(name.slice(start.length)),
  );
  if (drafts.length > 0) syncPath(folder);
  for (const draft of drafts) removeDraft(join(folder, draft));
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
