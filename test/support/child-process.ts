// Child: runs another program's client against a server that lives in this process, which must go
// on answering meanwhile; so never spawnSync.

import { spawn } from "node:child_process";

export interface ChildResult {
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a command to its end. `environment` is added to a few variables of our own. */
export function runChild(
  command: string,
  args: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): Promise<ChildResult> {
  const { PATH = "", HOME = "", LANG = "C.UTF-8" } = process.env;
  const env = { PATH, HOME, LANG, PYTHONUTF8: "1", PYTHONDONTWRITEBYTECODE: "1", ...environment };
  const child = spawn(command, args, { env, stdio: ["ignore", "pipe", "pipe"] });
  const stdout: Buffer[] = [];
  const stderr: Buffer[] = [];
  child.stdout.on("data", (chunk: Buffer) => stdout.push(chunk));
  child.stderr.on("data", (chunk: Buffer) => stderr.push(chunk));
  return new Promise((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (exitCode) => {
      const text = (chunks: Buffer[]) => Buffer.concat(chunks).toString();
      resolve({ exitCode, stdout: text(stdout), stderr: text(stderr) });
    });
  });
}
