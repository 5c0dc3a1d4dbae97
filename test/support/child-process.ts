// Child process: runs an external client against a server in this process. The server must be able
// to answer meanwhile, so spawnSync cannot be used.

import { spawn } from "node:child_process";

export interface ChildResult {
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a command until it exits. `environment` extends a few inherited variables. */
export function runChild(
  command: string,
  args: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): Promise<ChildResult> {
  const { PATH = "", HOME = "", LANG = "C.UTF-8", NODE_COMPILE_CACHE = "" } = process.env;
  const python = { PYTHONUTF8: "1", PYTHONDONTWRITEBYTECODE: "1" };
  const env = { PATH, HOME, LANG, NODE_COMPILE_CACHE, ...python, ...environment };
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
