// Command processes: `tidegate` as a real process, and what it printed.
//   P1. Every test has a folder of its own, in which its commands run; both are gone after it,
//       whatever the test left running.
//   P2. A command into which a test imports code by NODE_OPTIONS runs from its sources, whose
//       modules that code may patch.

import { type ChildProcess, type StdioOptions, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach } from "vitest";
import { bundled } from "./bundle/bundled.ts";

const SOURCE = join(import.meta.dirname, "..", "..", "src", "cli", "main.ts");
const MAIN = await bundled("src/cli/main.ts");

export interface CommandRun {
  readonly child: ChildProcess;
  /** Everything printed so far. */
  readonly printed: { out: string; err: string };
  readonly ended: Promise<{ readonly code: number | null; readonly signal: string | null }>;
}

export interface CommandOptions {
  readonly cwd?: string;
  /** Added to the environment of the tests. */
  readonly env?: Readonly<Record<string, string>>;
  /** A file to write to instead of being listened to. */
  readonly outTo?: number;
  readonly errTo?: number;
}

export function startCommand(words: readonly string[], options: CommandOptions = {}): CommandRun {
  const { outTo = "pipe", errTo = "pipe", ...others } = options;
  const env = { ...process.env, ...options.env };
  const stdio: StdioOptions = ["pipe", outTo, errTo];
  const main = options.env?.NODE_OPTIONS === undefined ? MAIN : SOURCE; // P2
  const child = spawn(process.execPath, [main, ...words], { ...others, env, stdio });
  const printed = { out: "", err: "" };
  child.stdout?.on("data", (chunk) => {
    printed.out += chunk;
  });
  child.stderr?.on("data", (chunk) => {
    printed.err += chunk;
  });
  const ended = once(child, "close").then(([code, signal]) => ({ code, signal }));
  return { child, printed, ended };
}

/** What a command printed, once it has ended by itself. */
export async function endOf({ printed, ended }: CommandRun) {
  const { code } = await ended;
  return { code, ...printed };
}

/** Looks until `holds`; a process that ended will never make it so. */
export async function untilHolds(
  run: CommandRun,
  holds: () => boolean | Promise<boolean>,
): Promise<void> {
  let exited = false;
  void run.ended.then(() => {
    exited = true;
  });
  while (!(await holds())) {
    if (exited) throw new Error(`ended early: ${run.printed.out}${run.printed.err}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

export interface Commands {
  /** The folder of the test that runs. */
  readonly folder: string;
  start(
    words: readonly string[],
    env?: CommandOptions["env"],
    files?: Pick<CommandOptions, "outTo" | "errTo">,
  ): CommandRun;
}

/** Commands for the tests of a file (P1). */
export function useCommands(name: string): Commands {
  let folder = "";
  const children: ChildProcess[] = [];
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), `tidegate-${name}-`));
  });
  afterEach(async () => {
    for (const child of children.splice(0)) {
      if (child.exitCode !== null || child.signalCode !== null) continue;
      const gone = once(child, "exit");
      child.kill("SIGKILL");
      await gone;
    }
    rmSync(folder, { recursive: true, force: true });
  });
  return {
    get folder() {
      return folder;
    },
    start(words, env = {}, files = {}) {
      const run = startCommand(words, { cwd: folder, env, ...files });
      children.push(run.child);
      return run;
    },
  };
}
