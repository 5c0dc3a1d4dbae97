// The folder lock: one process per data folder.
//   L1. The lock is the operating system's, on an empty file: it ends with the process, however
//       that ends, so there is never a stale one to clear away.
//   L2. The number in the pid file only serves the message; it never decides anything, not even
//       whether there can be such a file.
//   L3. What is not there before a failed start is not there after it.

import { accessSync, constants, existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { reasonOf, TidegateError } from "../../../core/errors.ts";
import { isBusy, isDamage } from "../../../ledger/sqlite-code.ts";
import { corrupt } from "./file-check.ts";
import { makeFolder } from "./make-folder.ts";

const LOCK_FILE = "broker.lock";
const PID_FILE = "broker.pid";

export interface FolderLock {
  /** Call once the folder has proved sound: from here on the lock's file stays. */
  keep(): void;
  release(): void;
}

export function lockFolder(folder: string): FolderLock {
  const path = join(folder, LOCK_FILE);
  const lockWasThere = existsSync(path);
  const connection = takeLock(folder, path);
  let kept = false;
  let told = false;
  return {
    keep() {
      if (kept) return;
      kept = true;
      told = tellOwner(folder);
    },
    release() {
      if (told) rmSync(join(folder, PID_FILE), { force: true });
      connection.close();
      if (!kept && !lockWasThere) rmSync(path, { force: true }); // L3
    },
  };
}

/** Whether the number of this process stands in its file; the message does without (L2). */
function tellOwner(folder: string): boolean {
  try {
    writeFileSync(join(folder, PID_FILE), `${process.pid}\n`);
    return true;
  } catch {
    return false;
  }
}

function takeLock(folder: string, path: string): DatabaseSync {
  let connection: DatabaseSync | undefined;
  try {
    makeFolder(folder);
    accessSync(folder, constants.W_OK); // SQLite would fall back to reading only, and lock nothing.
    connection = new DatabaseSync(path);
    // Locks the file for good without ever writing to it (L1).
    connection.exec("PRAGMA journal_mode = MEMORY; PRAGMA locking_mode = EXCLUSIVE");
    connection.exec("BEGIN EXCLUSIVE");
    return connection;
  } catch (error) {
    connection?.close();
    if (isBusy(error)) throw lockedError(folder, error);
    if (isDamage(error)) throw corrupt(path, "it should be empty, and may be removed", error);
    const message = `The data folder ${folder} cannot be opened for writing: ${reasonOf(error)}.`;
    throw new TidegateError("TG_STORE_UNAVAILABLE", message, { cause: error });
  }
}

export function lockedError(folder: string, cause: unknown): TidegateError {
  const owner = ownerOf(folder);
  const who = owner === null ? "another process" : `another process (${owner})`;
  const message = `The data folder ${folder} is in use by ${who}.`;
  return new TidegateError("TG_STORE_LOCKED", message, { cause });
}

function ownerOf(folder: string): string | null {
  try {
    const pid = readFileSync(join(folder, PID_FILE), "utf8").trim();
    return /^\d{1,10}$/.test(pid) ? `pid ${pid}` : null;
  } catch {
    return null; // L2: the message does without.
  }
}
