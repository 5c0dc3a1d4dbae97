// Folder lock: one process per data folder.
//   L1. The operating system holds the lock, on an empty file. It ends with the process, however
//       that ends, so a stale lock cannot exist.
//   L2. The number in the pid file only serves the error message. It decides nothing, not even
//       whether the file can exist.
//   L3. A failed start leaves no files behind that did not exist before it.
//   L4. The lock file can be deleted while its owner runs; another process could then lock a new
//       one. So the data file decides: a start is refused while another process has it open
//       (broker-store.ts). An owner that has closed it, after a failure, locks the new file first.
//   L5. Others may ask whether a folder is locked. They read and never lock for writing; a start at
//       that very moment waits for them.

import {
  accessSync,
  constants,
  existsSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { reasonOf, TidegateError } from "../../../core/errors.ts";
import { isBusy, isDamage } from "../sqlite-code.ts";
import { corrupt } from "./file-check.ts";
import { makeFolder } from "./make-folder.ts";

export const LOCK_FILE = "broker.lock";
const PID_FILE = "broker.pid";
/** Longer than a look at the lock takes (L5). */
const LOOK_MS_MAX = 250;

export interface FolderLock {
  /** Call once the folder is verified: from then on the lock file stays. */
  keep(): void;
  /** Locks the file again if it was deleted or replaced; throws TG_STORE_LOCKED (L4). */
  renew(): void;
  release(): void;
}

export function lockFolder(folder: string): FolderLock {
  const path = join(folder, LOCK_FILE);
  const lockWasThere = existsSync(path);
  let connection = takeLock(folder, path);
  let locked = identityOf(path);
  let verified = false;
  let ownerWritten = false;
  return {
    keep() {
      if (verified) return;
      verified = true;
      ownerWritten = writeOwner(folder);
    },
    renew() {
      if (locked !== null && identityOf(path) === locked) return;
      const previous = connection;
      connection = takeLock(folder, path);
      locked = identityOf(path);
      previous.close();
    },
    release() {
      if (ownerWritten) rmSync(join(folder, PID_FILE), { force: true });
      connection.close();
      if (!verified && !lockWasThere) rmSync(path, { force: true }); // L3
    },
  };
}

/** Tells a file from another one of the same name; null if there is none. */
function identityOf(path: string): string | null {
  const stats = statSync(path, { bigint: true, throwIfNoEntry: false });
  return stats === undefined ? null : `${stats.dev}:${stats.ino}`;
}

/** Writes the pid file; false if that fails, as only the error message needs it (L2). */
function writeOwner(folder: string): boolean {
  try {
    writeFileSync(join(folder, PID_FILE), `${process.pid}\n`);
    return true;
  } catch {
    return false;
  }
}

/** Whether a process has the folder open; null if its lock cannot be looked at (L5). */
export function isFolderLocked(folder: string): boolean | null {
  const path = join(folder, LOCK_FILE);
  if (!existsSync(path)) return null;
  let connection: DatabaseSync | undefined;
  try {
    connection = new DatabaseSync(path, { readOnly: true });
    connection.exec("SELECT 1 FROM sqlite_master");
    return false;
  } catch (error) {
    return isBusy(error) ? true : null;
  } finally {
    connection?.close();
  }
}

function takeLock(folder: string, path: string): DatabaseSync {
  let connection: DatabaseSync | undefined;
  try {
    makeFolder(folder);
    accessSync(folder, constants.W_OK); // SQLite would fall back to read-only, without a lock.
    connection = new DatabaseSync(path, { timeout: LOOK_MS_MAX });
    // Keeps the file locked without ever writing to it (L1).
    connection.exec("PRAGMA journal_mode = MEMORY; PRAGMA locking_mode = EXCLUSIVE");
    connection.exec("BEGIN EXCLUSIVE");
    return connection;
  } catch (error) {
    connection?.close();
    if (isBusy(error)) throw lockedError(folder, error);
    if (isDamage(error)) throw corrupt(path, "it should be empty; delete it", error);
    const message = `data folder ${folder} cannot be opened for writing: ${reasonOf(error)}`;
    throw new TidegateError("TG_STORE_UNAVAILABLE", message, { cause: error });
  }
}

export function lockedError(folder: string, cause: unknown): TidegateError {
  const owner = ownerOf(folder);
  const who = owner === null ? "another process" : `another process (${owner})`;
  const message = `data folder ${folder} is in use by ${who}`;
  return new TidegateError("TG_STORE_LOCKED", message, { cause });
}

function ownerOf(folder: string): string | null {
  try {
    const pid = readFileSync(join(folder, PID_FILE), "utf8").trim();
    return /^\d{1,10}$/.test(pid) ? `pid ${pid}` : null;
  } catch {
    return null; // L2: the message omits it.
  }
}
