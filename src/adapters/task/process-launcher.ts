// Process launcher: runs tasks as processes of this machine that outlive the dispatcher.
//   P1. Every task has a folder, named after its record, and a watcher process that notes its end
//       (task-watcher-entry.ts). The dispatcher reads files only, so that any dispatcher on this
//       machine can adopt a task.
//   P2. A watcher that died without a note took the exit code with it. What is left of its command
//       is killed, and the task has vanished.
//   P3. A task may be stopped and forgotten by the fence that owns it, and by no lower one (K3 of
//       ports/task-launcher.ts).

import { spawn } from "node:child_process";
import { existsSync, mkdirSync, rmSync } from "node:fs";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { type DurationMs, durationMs, seconds } from "../../core/units.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Task, TaskEnd, TaskLauncher } from "../../ports/task-launcher.ts";
import { linesOf, RESULT_FILE, writeTaskEvent } from "./attached-launcher.ts";
import { isRunning, processIdOf } from "./process-id.ts";
import { signalGroup } from "./run-command.ts";
import { createTaskFolder, OUTPUT_FILE, readTaskFile, writeTaskFile } from "./task-folder.ts";
import { TaskNotStarted } from "./task-not-started.ts";

export interface ProcessLauncherOptions {
  /** Holds one folder per task. */
  readonly folder: string;
  readonly words: readonly string[];
  readonly killMs: DurationMs;
}

const POLL_MS: DurationMs = durationMs(50);
const START_MS_MAX: DurationMs = seconds(60);
const ENTRY = `./task-watcher-entry.${import.meta.url.endsWith(".ts") ? "ts" : "js"}`;

export function createProcessLauncher(clock: Clock, options: ProcessLauncherOptions): TaskLauncher {
  const root = resolve(options.folder);
  mkdirSync(root, { recursive: true });

  function taskIn(folder: string, fence: number): Task {
    const id = () => String(readTaskFile(folder, "process.json")?.command?.pid ?? "starting");
    const isOurs = () => (readTaskFile(folder, "owner.json")?.fence ?? fence) <= fence; // P3
    return {
      id: `${id()} (output in ${join(folder, OUTPUT_FILE)})`,
      wait: (signal) => waitForEnd(clock, folder, signal),
      async stop() {
        if (isOurs()) await stopTask(clock, folder);
      },
      result: () => linesOf(join(folder, RESULT_FILE)),
      async forget() {
        if (isOurs()) rmSync(folder, { recursive: true, force: true });
      },
    };
  }

  function adopt(folder: string, fence: number): Task {
    const owner = readTaskFile(folder, "owner.json")?.fence ?? 0;
    writeTaskFile(folder, "owner.json", { fence: Math.max(owner, fence) });
    return taskIn(folder, fence);
  }

  return {
    async find(name, fence) {
      const folder = join(root, name);
      const process = readTaskFile(folder, "process.json");
      const end = readTaskFile(folder, "end.json");
      return process === null || end?.kind === "not-started" ? null : adopt(folder, fence);
    },
    async start({ name, fence, event, variables }) {
      const folder = join(root, name);
      // A watcher of an earlier attempt may have started its command since `find`.
      if (!createTaskFolder(folder, processIdOf(process.pid))) return adopt(folder, fence);
      const { words, killMs } = options;
      writeTaskEvent(folder, event);
      writeTaskFile(folder, "owner.json", { fence });
      writeTaskFile(folder, "spec.json", { name, words, variables, killMs });
      const entry = fileURLToPath(new URL(ENTRY, import.meta.url));
      const watcher = spawn(process.execPath, [entry, folder], { detached: true, stdio: "ignore" });
      let exit: string | null = null;
      watcher.once("error", (error) => {
        exit = `did not start: ${error.message}`;
      });
      watcher.once("exit", (code, signal) => {
        if (code !== 0) exit = `ended with ${signal ?? `exit code ${code}`}`; // Without a note.
      });
      watcher.unref();
      await untilStarted(clock, folder, () => exit);
      return taskIn(folder, fence);
    },
  };
}

async function untilStarted(
  clock: Clock,
  folder: string,
  exit: () => string | null,
): Promise<void> {
  const since = clock.monotonic();
  for (;;) {
    const end = readTaskFile(folder, "end.json");
    if (end?.kind === "not-started") {
      rmSync(folder, { recursive: true, force: true });
      throw new TaskNotStarted(end.reason, { temporary: false });
    }
    if (end !== null || readTaskFile(folder, "process.json")?.command != null) return;
    const reason = clock.monotonic() - since > START_MS_MAX ? "did not start" : exit();
    if (reason !== null) {
      throw new TaskNotStarted(`the watcher of the task ${reason}`, { temporary: true });
    }
    await clock.sleep(POLL_MS);
  }
}

async function waitForEnd(clock: Clock, folder: string, signal: AbortSignal): Promise<TaskEnd> {
  for (;;) {
    signal.throwIfAborted();
    const end = endOf(folder);
    if (end !== null) return end;
    await clock.sleep(POLL_MS, signal);
  }
}

/** Null while the task runs. */
function endOf(folder: string): TaskEnd | null {
  const watched = readTaskFile(folder, "process.json");
  const running = watched !== null && isRunning(watched.watcher);
  const end = readTaskFile(folder, "end.json"); // After the look at the watcher, which writes it.
  if (end?.kind === "not-started") return { kind: "vanished", reason: end.reason };
  if (end !== null) return end;
  if (running) return null;
  if (!existsSync(folder)) return { kind: "vanished", reason: "its folder was removed" };
  killCommand(folder); // P2
  return { kind: "vanished", reason: "its watcher ended without noting an exit code" };
}

function killCommand(folder: string): void {
  const command = readTaskFile(folder, "process.json")?.command ?? null;
  if (command !== null && isRunning(command)) signalGroup(command.pid, "SIGKILL");
}

async function stopTask(clock: Clock, folder: string): Promise<void> {
  const watcher = readTaskFile(folder, "process.json")?.watcher;
  if (watcher !== undefined && isRunning(watcher)) {
    try {
      process.kill(watcher.pid, "SIGTERM");
    } catch {
      // It has ended in between.
    }
  }
  await waitForEnd(clock, folder, new AbortController().signal);
}
