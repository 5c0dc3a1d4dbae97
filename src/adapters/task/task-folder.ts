// Task folder: what is stored about one task of the process launcher.
//   F1. Files are written whole: a reader sees the old content or the new one.
//   F2. The process that creates `process.json` runs the task. A second one that was started for the
//       same folder finds the file and ends: a record never has two tasks at a time.

import { linkSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { TaskEnd } from "../../ports/task-launcher.ts";
import type { ProcessId } from "./process-id.ts";

export interface TaskSpec {
  readonly name: string;
  readonly words: readonly string[];
  readonly variables: Readonly<Record<string, string>>;
  readonly killMs: number;
}

export interface TaskFiles {
  "spec.json": TaskSpec;
  /** The highest fence that started or found the task. */
  "owner.json": { readonly fence: number };
  /** The process that watches the command, and the command itself once it runs. */
  "process.json": { readonly watcher: ProcessId; readonly command: ProcessId | null };
  "end.json": TaskEnd | { readonly kind: "not-started"; readonly reason: string };
}

export const OUTPUT_FILE = "output.log";

/** Empties the folder; false if a task runs there. */
export function createTaskFolder(folder: string, own: ProcessId): boolean {
  // A claim of our own keeps a watcher from starting its command while its folder is removed (F2).
  const isFree = claimTaskFolder(folder, own) || readTaskFile(folder, "process.json") === null;
  if (!isFree && readTaskFile(folder, "end.json")?.kind !== "not-started") return false;
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  return true;
}

/** The content of a file; null if it is missing. */
export function readTaskFile<F extends keyof TaskFiles>(
  folder: string,
  file: F,
): TaskFiles[F] | null {
  try {
    return JSON.parse(readFileSync(join(folder, file), "utf8")) as TaskFiles[F];
  } catch {
    return null;
  }
}

export function writeTaskFile<F extends keyof TaskFiles>(
  folder: string,
  file: F,
  content: TaskFiles[F],
): void {
  const path = join(folder, file);
  const part = `${path}.${process.pid}.part`;
  writeFileSync(part, JSON.stringify(content));
  renameSync(part, path); // F1
}

/** Whether this process may run the task (F2). In a folder that was removed, none may. */
export function claimTaskFolder(folder: string, watcher: ProcessId): boolean {
  const path = join(folder, "process.json");
  const part = `${path}.${process.pid}.part`;
  try {
    writeFileSync(part, JSON.stringify({ watcher, command: null }));
    linkSync(part, path); // F1. A rename would replace the file of another process.
    return true;
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : undefined;
    if (code !== "EEXIST" && code !== "ENOENT") throw error;
    return false;
  } finally {
    rmSync(part, { force: true });
  }
}
