// Makes a folder and its missing parents, each durable in the folder above it.

import { existsSync, mkdirSync, statSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { syncPath } from "../renew-log.ts";

/**
 * Node goes round in circles where a file system refuses a folder as if its parent were missing
 * (Linux's /proc does), so it is only asked for several levels when the parent is missing indeed.
 */
export function makeFolder(folder: string): void {
  if (existsSync(folder)) {
    if (!statSync(folder).isDirectory()) throw new Error("it is a file, and no folder");
    return;
  }
  const parent = dirname(resolve(folder));
  if (!existsSync(parent)) makeFolder(parent);
  try {
    mkdirSync(folder);
    syncPath(parent);
  } catch (error) {
    if (!existsSync(folder)) throw error; // Another process may have made it meanwhile.
  }
}
