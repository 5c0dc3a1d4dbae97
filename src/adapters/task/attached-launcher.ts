// Attached launcher: runs a command as a child of this process, for `tidegate task`.
//   A1. Event and result are files in a folder that is removed afterwards.
//   A2. The command is stopped with this process. If this process is killed, the command runs on;
//       nothing reads its result, and the fencing token that it got is no longer valid.

import { createReadStream, existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Writable } from "node:stream";
import type { DurationMs } from "../../core/units.ts";
import { untilAborted } from "../../ingest/running/in-flight-delivery.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Task, TaskLauncher } from "../../ports/task-launcher.ts";
import { runCommand } from "./run-command.ts";
import { splitLines } from "./task-result.ts";

export interface AttachedOptions {
  readonly words: readonly string[];
  readonly killMs: DurationMs;
  readonly out: Writable;
  readonly err: Writable;
  /** One sentence about something that the reader should know. */
  readonly onNote: (text: string) => void;
}

const EVENT_FILE = "event.json";
export const RESULT_FILE = "result.jsonl";
const PREFIX_CHARS = 11;

export function createAttachedLauncher(clock: Clock, options: AttachedOptions): TaskLauncher {
  const { words, killMs, out, err, onNote } = options;
  return {
    find: async () => null,
    async start({ name, event, variables }): Promise<Task> {
      const folder = mkdtempSync(join(tmpdir(), "tidegate-task-"));
      const forget = async () => rmSync(folder, { recursive: true, force: true }); // A1
      try {
        writeTaskEvent(folder, event);
        const files = taskFileVariables(folder);
        const prefix = `[${name.slice(0, PREFIX_CHARS)}] `;
        const all = { ...variables, ...files };
        const running = await runCommand(clock, {
          words,
          variables: all,
          killMs,
          prefix,
          out,
          err,
        });
        void running.ended.then(({ leftovers }) => {
          if (leftovers) onNote("the command left processes behind; they were killed");
        });
        return {
          id: String(running.pid),
          wait: (signal) => untilAborted(signal, () => running.ended),
          async stop() {
            running.stop();
            await running.ended;
          },
          result: () => linesOf(join(folder, RESULT_FILE)),
          forget,
        };
      } catch (error) {
        await forget();
        throw error;
      }
    },
  };
}

export function writeTaskEvent(folder: string, event: string): void {
  writeFileSync(join(folder, EVENT_FILE), event);
}

/** The variables that name the files of a task. */
export function taskFileVariables(folder: string): Record<string, string> {
  return {
    TIDEGATE_EVENT_FILE: join(folder, EVENT_FILE),
    TIDEGATE_RESULT_FILE: join(folder, RESULT_FILE),
  };
}

/** The lines of a file; none if the file is missing. */
export async function* linesOf(path: string): AsyncIterable<string> {
  if (existsSync(path)) yield* splitLines(createReadStream(path, "utf8"));
}
