// Fold mark: says beside a SQLite file that its pages are in doubt, to each process that opens it.
// After a failed sync, only descriptors that were open before it see the error. A process that
// opens the file later sees a file that syncs without errors, and pages that are not on the disk.
//   F1. FOLDING exists before the first page is folded into the file, and until all of them are
//       synced (K5 of checkpoints.ts). So whenever a fold has failed the mark is there, however
//       the process ended. Without space for the mark, nothing is folded: the log still has it all.
//   F2. Only one process folds at a time: the one that created the mark. Another one's mark is
//       respected, whether that process works or is gone.
//   F3. FAILED says that a process has met a failure and waits to renew the file. Every other one
//       closes the file as soon as it sees the mark, and none begins to write. It may be missing,
//       on a full disk; those that had the file open then meet the failure themselves.
//   F4. Marks are not synced. A power cut also empties the page cache; then the disk shows what it
//       has, and the log covers every page that is not there. Only a running system needs them.
//   F5. A process without a free descriptor makes the mark a link to nothing, which needs none.

import { closeSync, openSync, rmSync, symlinkSync } from "node:fs";
import { behindLinks, codeOf, isName } from "./replace-file.ts";
import { sqliteCode } from "./sqlite-code.ts";

const FOLDING = "-folding";
const FAILED = "-failed";
/** The process, or the whole system, has no file descriptor left. */
const NO_DESCRIPTOR = new Set(["EMFILE", "ENFILE"]);
/** SQLite's code for a failed call to the disk. */
export const IOERR = 10;

/** Whether pages of the file are in doubt: a fold runs, has failed, or was cut short. */
export function isFoldOpen(path: string): boolean {
  return isName(`${path}${FOLDING}`);
}

/** Whether a process waits to renew the file (F3). */
export function isMarkedFailed(path: string): boolean {
  return isName(`${path}${FAILED}`);
}

/** Removes both marks: the file under the name is durable, and so is its log. */
export function clearMarks(path: string): void {
  for (const suffix of [FOLDING, FAILED]) rmSync(`${path}${suffix}`, { force: true });
}

export class FoldMark {
  readonly #folding: string;
  readonly #failed: string;
  #isOwn = false;

  constructor(path: string) {
    const real = behindLinks(path);
    this.#folding = `${real}${FOLDING}`;
    this.#failed = `${real}${FAILED}`;
  }

  /** Whether this process may fold now (F2); throws if the mark cannot be created (F1). */
  begin(): boolean {
    this.#isOwn ||= create(this.#folding);
    return this.#isOwn;
  }

  /** No sync of the fold has failed. */
  end(): void {
    rmSync(this.#folding, { force: true });
    this.#isOwn = false;
  }

  /** Whether a fold is open, this process's or another one's. */
  get exists(): boolean {
    return isName(this.#folding);
  }

  /** This process has met a failure (F3). */
  fail(): void {
    try {
      create(this.#failed);
    } catch {
      // F3: it may be missing.
    }
  }

  /** Whether a process waits to renew the file (F3). */
  get isFailed(): boolean {
    return isName(this.#failed);
  }
}

/** Whether this call created the mark; false if it exists. */
function create(path: string): boolean {
  try {
    createName(path);
    return true;
  } catch (error) {
    if (codeOf(error) !== "EEXIST") throw error;
    return false;
  }
}

function createName(path: string): void {
  try {
    closeSync(openSync(path, "wx"));
  } catch (error) {
    if (!NO_DESCRIPTOR.has(codeOf(error))) throw error;
    symlinkSync("-", path); // F5
  }
}

/** A write to the file itself may have failed, as when its tables are created. */
export function noteFailedWrite(path: string, error: unknown): void {
  if (sqliteCode(error) !== IOERR) return;
  const mark = new FoldMark(path);
  try {
    mark.begin();
  } catch {
    // The failed write is what is reported.
  }
  mark.fail();
}

/** Why nothing is written to a file that needs to be renewed; it reads as a failure of the disk. */
export function suspectError(): Error {
  const message =
    "a write to the file has failed, in this process or in another one; " +
    "it continues by itself once the file is renewed";
  return Object.assign(new Error(message), { code: "ERR_SQLITE_ERROR", errcode: IOERR });
}
