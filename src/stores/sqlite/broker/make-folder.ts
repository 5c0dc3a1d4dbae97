// Make folder: creates a folder and its parents, each durable in the folder above it.
//   F1. A folder that exists may have a name that is not durable: the sync of its parent failed, or
//       the process that created it died first. So the parent is synced in that case as well.
//   F2. A folder is created only after the name of its parent is durable (F1).

import { existsSync, mkdirSync, statSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { syncPath } from "../replace-file.ts";

/** Codes of a parent that this user may not open, so this user has not made the folder. */
const CLOSED_CODES = new Set(["EACCES", "EPERM"]);

/**
 * Node loops forever where a file system rejects a folder as if its parent were missing (Linux's
 * /proc does). So several levels are requested only if the parent is really missing.
 */
export function makeFolder(folder: string): void {
  const parent = dirname(resolve(folder));
  if (existsSync(folder)) {
    if (!statSync(folder).isDirectory()) throw new Error("it is a file, not a folder");
    syncName(parent); // F1
    return;
  }
  makeFolder(parent); // F2
  try {
    mkdirSync(folder);
  } catch (error) {
    if (!existsSync(folder)) throw error; // Another process may have created it in the meantime.
  }
  syncPath(parent);
}

function syncName(parent: string): void {
  try {
    syncPath(parent);
  } catch (error) {
    if (!CLOSED_CODES.has(String((error as { code?: string }).code))) throw error;
  }
}
