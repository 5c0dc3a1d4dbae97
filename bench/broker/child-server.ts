// Child server: a server in its own process, from its start to its end.
//   C1. A server is ready when a line of its output contains its endpoint.
//   C2. Every child is ended by its parent: by SIGTERM first where time allows, killed after
//       STOP_MS_MAX.
//   C3. The last part of the child's output is stored, and shown if it fails.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";

const READY_MS_MAX = 120_000;
const STOP_MS_MAX = 10_000;
const LOG_CHARS_MAX = 4_000;
const ENDPOINT = /http:\/\/127\.0\.0\.1:(\d+)/;

export interface ChildServer {
  readonly port: number;
  readonly process: ChildProcess;
  /** From the spawn to the line that contains the endpoint. */
  readonly readyMs: number;
  /** Sends SIGTERM and waits for the end. */
  stop(): Promise<void>;
  /** Kills it immediately, as a crash would, and waits for its end. */
  kill(): Promise<void>;
}

export interface ChildOptions {
  /** Arguments after the name of the node binary. */
  readonly args: readonly string[];
  /** Kills the server if its ready line has not come by then. */
  readonly readyMsMax?: number;
  readonly env?: Readonly<Record<string, string>>;
  /** Called with the process as soon as it exists, before it is ready. */
  readonly onSpawn?: (child: ChildProcess) => void;
}

async function gone(child: ChildProcess): Promise<void> {
  if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
}

async function kill(child: ChildProcess): Promise<void> {
  child.kill("SIGKILL");
  await gone(child);
}

async function stop(child: ChildProcess): Promise<void> {
  child.kill("SIGTERM");
  const late = setTimeout(() => child.kill("SIGKILL"), STOP_MS_MAX); // C2
  await gone(child);
  clearTimeout(late);
}

/** Starts a server and waits for its ready line. */
export async function startChild(options: ChildOptions): Promise<ChildServer> {
  const startedAt = performance.now();
  const child = spawn(process.execPath, options.args, {
    stdio: ["ignore", "pipe", "pipe", "ipc"],
    env: { ...process.env, ...options.env },
  });
  const reap = (): boolean => child.kill("SIGKILL");
  process.once("exit", reap); // C2: no server outlives a parent that ends early.
  child.once("exit", () => process.removeListener("exit", reap));
  options.onSpawn?.(child);
  let log = "";
  const keep = (text: string): void => {
    log = (log + text).slice(-LOG_CHARS_MAX); // C3
  };
  child.stdout?.setEncoding("utf8");
  child.stderr?.setEncoding("utf8").on("data", keep);
  const port = await new Promise<number>((resolve, reject) => {
    const late = setTimeout(
      () =>
        reject(
          new Error(`timeout waiting for the ready line of: ${options.args.join(" ")}\n${log}`),
        ),
      options.readyMsMax ?? READY_MS_MAX,
    );
    child.stdout?.on("data", (text: string) => {
      keep(text);
      const match = ENDPOINT.exec(log);
      if (match === null) return;
      clearTimeout(late);
      resolve(Number(match[1])); // C1
    });
    child.once("exit", (code, signal) => {
      clearTimeout(late);
      reject(new Error(`ended with ${code ?? signal}: ${options.args.join(" ")}\n${log}`));
    });
    child.once("error", reject);
  }).catch(async (error: unknown) => {
    await kill(child);
    throw error;
  });
  const readyMs = performance.now() - startedAt;
  return { port, process: child, readyMs, stop: () => stop(child), kill: () => kill(child) };
}

/** Linux counts processor time in hundredths of a second. */
const TICK_US = 10_000;
/** The positions of user and system time after the name of the program. */
const STAT_USER = 11;
const STAT_SYSTEM = 12;

/** Processor time of all threads of a child so far; NaN where the system has no /proc. */
export function cpuMicros({ process: { pid } }: ChildServer): number {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return (Number(fields[STAT_USER]) + Number(fields[STAT_SYSTEM])) * TICK_US;
  } catch {
    return Number.NaN;
  }
}

/** Memory of a child process, as it reports it after garbage collection. */
export interface MemoryReport {
  readonly rssBytes: number;
  /** Heap in use, and buffers outside of it. */
  readonly heldBytes: number;
  /** The highest resident size of the process so far. */
  readonly peakRssBytes: number;
}

/** Requests the report of a child over IPC (see memory-report.ts). */
export async function askMemory(server: ChildServer): Promise<MemoryReport> {
  const answered = once(server.process, "message");
  server.process.send({ kind: "memory" });
  const [report] = (await answered) as [MemoryReport];
  return report;
}
