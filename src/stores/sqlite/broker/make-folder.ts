// Make folder: creates a folder and its parents, each durable in the folder above it.

import { existsSync, mkdirSync, statSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { syncPath } from "../replace-file.ts";

/**
 * Node loops forever where a file system rejects a folder as if its parent were missing (Linux's
 * /proc does). So several levels are requested only if the parent is really missing.
 */
export function makeFolder(folder: string): void {
  if (existsSync(folder)) {
    if (!statSync(folder).isDirectory()) throw new Error("it is a file, not a folder");
    return;
  }
  const parent = dirname(resolve(folder));
  if (!existsSync(parent)) makeFolder(parent);
  try {
    mkdirSync(folder);
    syncPath(parent);
  } catch (error) {
    if (!existsSync(folder)) throw error; // Another process may have created it in the meantime.
  }
}
