// Run command: a user's command as a process group of its own.
//   R1. The command ends when the process that was started ends. Processes that it left behind in
//       its group are killed: no claim covers their work. A process that leaves the group escapes.
//   R2. `stop` sends SIGTERM to the group, and SIGKILL to what is left after `killMs`.
//   R3. Output is passed on with back-pressure (P2 of prefix-lines.ts). Without a reader it is
//       discarded, so that the command does not block.

import { type ChildProcess, spawn } from "node:child_process";
import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";
import type { Readable, Writable } from "node:stream";
import { refuseConfig } from "../../core/errors.ts";
import { type DurationMs, durationMs } from "../../core/units.ts";
import type { Clock } from "../../ports/clock.ts";
import type { TaskEnd } from "../../ports/task-launcher.ts";
import { createPrefixLines } from "./prefix-lines.ts";
import { TaskNotStarted } from "./task-not-started.ts";

export interface CommandOptions {
  /** The program and its arguments. */
  readonly words: readonly string[];
  readonly variables: Readonly<Record<string, string>>;
  /** Between SIGTERM and SIGKILL (R2). */
  readonly killMs: DurationMs;
  readonly prefix: string;
  readonly out: Writable;
  readonly err: Writable;
}

export interface RunningCommand {
  readonly pid: number;
  readonly ended: Promise<TaskEnd & { readonly leftovers: boolean }>;
  stop(): void;
}

/** How long output may still arrive after the end of the command. */
const OUTPUT_MS: DurationMs = durationMs(1_000);

/** Rejects a program that does not exist, with one sentence. */
export function checkProgram(program: string): void {
  const folders = program.includes("/") ? [""] : (process.env.PATH ?? "").split(delimiter);
  const isThere = folders.some((folder) => {
    try {
      accessSync(join(folder, program), constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
  if (isThere) return;
  refuseConfig(`the command ${JSON.stringify(program)} does not exist or is not executable`);
}

/** Starts a command; rejects with TaskNotStarted. */
export async function runCommand(clock: Clock, options: CommandOptions): Promise<RunningCommand> {
  const { words, variables, killMs, prefix, out, err } = options;
  const [program = "", ...args] = words;
  let child: ChildProcess;
  try {
    const env = { ...process.env, ...variables };
    child = spawn(program, args, { env, detached: true, stdio: ["ignore", "pipe", "pipe"] });
    await new Promise((resolve, reject) => child.once("spawn", resolve).once("error", reject));
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    const message = `the command ${JSON.stringify(program)} did not start: ${reason}`;
    throw new TaskNotStarted(message, { temporary: false, cause: error });
  }
  const pid = child.pid ?? 0;
  const over = new AbortController();
  const closed = Promise.all([
    passOn(child.stdout, createPrefixLines(prefix), out),
    passOn(child.stderr, createPrefixLines(prefix), err),
  ]);
  const ended = new Promise<TaskEnd & { readonly leftovers: boolean }>((resolve) => {
    child.once("exit", async (code, signal) => {
      over.abort();
      const leftovers = signalGroup(pid, "SIGKILL"); // R1
      await withinMs(clock, OUTPUT_MS, closed);
      child.stdout?.destroy();
      child.stderr?.destroy();
      const end: TaskEnd =
        code !== null ? { kind: "exited", code } : { kind: "killed", signal: signal ?? "SIGKILL" };
      resolve({ ...end, leftovers });
    });
  });
  let stopping = false;
  return {
    pid,
    ended,
    stop() {
      if (stopping) return;
      stopping = true;
      signalGroup(pid, "SIGTERM"); // R2
      clock.sleep(killMs, over.signal).then(
        () => signalGroup(pid, "SIGKILL"),
        () => undefined,
      );
    },
  };
}

/** Whether the group still had processes. */
export function signalGroup(pid: number, signal: NodeJS.Signals): boolean {
  try {
    process.kill(-pid, signal);
    return true;
  } catch {
    return false; // All of them have ended.
  }
}

/** Resolves when `from` has ended and its lines are written (R3). */
function passOn(from: Readable | null, lines: NodeJS.ReadWriteStream, to: Writable): Promise<void> {
  if (from === null) return Promise.resolve();
  return new Promise((resolve) => {
    const discard = () => {
      lines.unpipe(to);
      lines.resume();
    };
    to.once("error", discard);
    from.pipe(lines).pipe(to, { end: false });
    from.once("error", () => resolve());
    lines.once("end", () => {
      to.off("error", discard);
      resolve();
    });
  });
}

async function withinMs(clock: Clock, spanMs: DurationMs, ended: Promise<unknown>): Promise<void> {
  const waited = new AbortController();
  await Promise.race([ended, clock.sleep(spanMs, waited.signal).catch(() => undefined)]);
  waited.abort();
}
