// A shell session for pages: one bash that lives from the first command of a page to the last, as a
// reader's does, so that folders, variables, aliases and background jobs are kept.
//   S1. The output of a block, on both streams, is collected up to a mark that only we print.
//   S2. A failed command is reported, even in the middle of a block; conditions may fail.
//   S3. Jobs that the page started end with the session, which kills them by their ids. If the test
//       itself is killed, bash reads the end of its input and kills them.

import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { createInterface } from "node:readline";

export interface ShellAnswer {
  readonly output: string;
  /** The commands that failed, each with its exit code before it (S2). */
  readonly failed: readonly string[];
}

export interface ShellSession {
  run(commands: string): Promise<ShellAnswer>;
  close(): Promise<void>;
}

export interface ShellOptions {
  readonly folder: string;
  readonly env: NodeJS.ProcessEnv;
  /** Lines to begin with; they may define functions in the place of commands. */
  readonly prelude: readonly string[];
}

export function startShell({ folder, env, prelude }: ShellOptions): ShellSession {
  const mark = randomUUID();
  const bash = spawn("bash", ["--norc", "--noprofile", "-s"], {
    cwd: folder,
    env,
    stdio: ["pipe", "pipe", "inherit"],
  });
  const closed = once(bash, "close");
  const lines = createInterface({ input: bash.stdout })[Symbol.asyncIterator]();
  const begin = [
    "exec 2>&1", // S1
    "shopt -s expand_aliases",
    "set -m",
    `trap 'kill -9 $(jobs -p) 2>/dev/null' EXIT`, // S3
    ...prelude,
    `trap 'echo "${mark} failed $? $BASH_COMMAND"' ERR`, // S2
  ];
  bash.stdin.write(`${begin.join("\n")}\n`);
  let jobs: number[] = [];
  return {
    async run(commands) {
      bash.stdin.write(`${commands}\necho; echo ${mark} end $(jobs -p)\n`);
      const output: string[] = [];
      const failed: string[] = [];
      for (;;) {
        const { done, value: line } = await lines.next();
        if (done) throw new Error(`the shell ended in the middle of:\n${commands}`);
        if (line.startsWith(`${mark} end`)) {
          jobs = line.split(" ").slice(2).filter(Boolean).map(Number);
          break;
        }
        if (line.startsWith(mark)) failed.push(line.slice(`${mark} failed `.length));
        else output.push(line);
      }
      return { output: output.join("\n").trim(), failed };
    },
    async close() {
      for (const pid of jobs) killGroup(pid); // S3
      bash.stdin.end();
      bash.kill("SIGKILL"); // It may be waiting for a command that never ends.
      await closed;
    },
  };
}

/** Job control gives every job a group of its own, named after its first process. */
function killGroup(pid: number): void {
  try {
    process.kill(-pid, "SIGKILL");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}
