// Local server: another project's server, downloaded once into the user's cache folder and started
// for tests.
//   L1. A download is moved into the cache in one step: an interrupted one never looks complete,
//       and two at once do not mix.
//   L2. A part that is not available is a value with its reason, never an exception: the caller
//       decides whether that is a failure.
//   L3. A server listens on 127.0.0.1 only and ends with the process that started it.

import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, renameSync, rmSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

export interface LocalServer {
  readonly endpoint: string;
  stop(): void;
}

/** Why a part is not available (L2). */
export interface Missing {
  readonly missing: string;
}

export interface ServerCommand {
  readonly program: string;
  readonly args: readonly string[];
  readonly port: number;
  readonly env?: Readonly<Record<string, string>>;
}

const FETCH_MS_MAX = 300_000;
const START_TRIES_MAX = 3_000;
const START_PAUSE_MS = 200;

/** Whether a program runs and succeeds with these arguments. */
export function works(program: string, ...args: readonly string[]): boolean {
  return spawnSync(program, args, { stdio: "ignore" }).status === 0;
}

/** Runs one step of a download. */
export function fetchStep(
  program: string,
  args: readonly string[],
  cwd: string,
  msMax = FETCH_MS_MAX,
): boolean {
  const options = { cwd, timeout: msMax, stdio: "ignore" as const };
  return spawnSync(program, args, options).status === 0;
}

/** Where downloads are kept. */
export function cacheFolder(): string {
  return resolve(process.env.TIDEGATE_CACHE ?? join(homedir(), ".cache", "tidegate"));
}

/**
 * The folder `name` of the cache. If it is missing, `fill` downloads it inside of a work folder and
 * returns where it is.
 */
export function cached(name: string, fill: (work: string) => string | Missing): string | Missing {
  const cache = cacheFolder();
  const folder = join(cache, name);
  if (existsSync(folder)) return folder;
  const work = join(cache, `fetch-${name}-${process.pid}`);
  mkdirSync(work, { recursive: true });
  try {
    const filled = fill(work);
    if (typeof filled !== "string") return filled;
    moveUnlessThere(filled, folder); // L1
    return folder;
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

/** Another process may have downloaded the same meanwhile. */
function moveUnlessThere(from: string, to: string): void {
  try {
    renameSync(from, to);
  } catch (error) {
    if (!existsSync(to)) throw error;
  }
}

/** Starts a server and waits until it answers. */
export async function startServer(command: ServerCommand): Promise<LocalServer | Missing> {
  const { program, args, port, env = {} } = command;
  // Some servers write files to their working directory.
  const options = { cwd: tmpdir(), env: { ...process.env, ...env }, stdio: "ignore" as const };
  const child = spawn(program, args, options);
  child.on("error", () => undefined); // `answers` notices that it has no process.
  const endpoint = `http://127.0.0.1:${port}`;
  const stop = () => void child.kill("SIGKILL"); // It has nothing to save.
  process.once("exit", stop); // L3
  if (await answers(endpoint, child)) return { endpoint, stop };
  stop();
  return { missing: "it did not start" };
}

async function answers(endpoint: string, child: ChildProcess): Promise<boolean> {
  for (let tries = 0; tries < START_TRIES_MAX; tries += 1) {
    if (child.pid === undefined || child.exitCode !== null) return false;
    try {
      await fetch(endpoint); // Any response will do, even the rejection of an unsigned request.
      return true;
    } catch {
      await sleep(START_PAUSE_MS);
    }
  }
  return false;
}

/**
 * The script of a server: with --fetch it only downloads, so that parallel tests need not; without,
 * it prints the endpoint and runs until it is stopped.
 */
export async function serveAsScript(
  name: string,
  fetchParts: () => string | Missing,
  start: () => Promise<LocalServer | Missing>,
): Promise<void> {
  const fetchOnly = process.argv[2] === "--fetch";
  const outcome = fetchOnly ? fetchParts() : await start();
  if (typeof outcome === "object" && "missing" in outcome) {
    process.stderr.write(`${name}: ${outcome.missing}\n`);
    process.exit(1);
  }
  if (typeof outcome === "string") return;
  process.stdout.write(`${outcome.endpoint}\n`);
  process.once("SIGTERM", () => process.exit(0));
  process.once("SIGINT", () => process.exit(0));
}
