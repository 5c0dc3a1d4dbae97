// PostgreSQL server: a real server for tests and benchmarks, with Debian's binaries, a temporary
// folder and a free port of 127.0.0.1. The server refuses to run as root, so root starts it as the
// user `postgres`.

import { spawnSync } from "node:child_process";
import { chmodSync, chownSync, existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort } from "../../../scripts/free-port.ts";

const ROOT = "/usr/lib/postgresql";

export interface PostgresServer {
  /** With an empty database `ledger`. */
  readonly url: string;
  /** Ends the server; `start` starts it again, with its data. */
  halt(): void;
  start(): void;
  stop(): void;
}

function binaries(): string | null {
  if (!existsSync(ROOT)) return null;
  const versions = readdirSync(ROOT).sort((a, b) => Number(b) - Number(a));
  const newest = versions.find((version) => existsSync(join(ROOT, version, "bin", "initdb")));
  return newest === undefined ? null : join(ROOT, newest, "bin");
}

/** The user id that runs the server: `postgres` for root, else the current user (null). */
function serverUser(): { uid: number; gid: number } | null {
  if (process.getuid?.() !== 0) return null;
  const id = (flag: string) => Number(spawnSync("id", [flag, "postgres"]).stdout.toString().trim());
  return { uid: id("-u"), gid: id("-g") };
}

/** Starts a server, or returns why it cannot. */
export async function startPostgres(
  settings: Readonly<Record<string, string>> = {},
): Promise<PostgresServer | { readonly missing: string }> {
  const bin = binaries();
  if (bin === null) return { missing: `${ROOT} holds no server (install postgresql)` };
  const user = serverUser();
  if (user !== null && !(user.uid > 0))
    return { missing: "there does not exist: user `postgres` to run it" };
  const folder = mkdtempSync(join(tmpdir(), "tidegate-postgres-"));
  chmodSync(folder, 0o700);
  if (user !== null) chownSync(folder, user.uid, user.gid);
  const run = (program: string, args: readonly string[]) => {
    const options = { cwd: folder, stdio: "ignore" as const, ...(user ?? {}) };
    const { status, error } = spawnSync(join(bin, program), args, options);
    if (status !== 0) throw new Error(`${program} ended with ${status ?? error}`);
  };
  const data = join(folder, "data");
  const port = await freePort();
  run("initdb", ["-D", data, "-U", "tidegate", "-A", "trust", "--no-sync", "-E", "UTF8"]);
  const given = Object.entries(settings).map(([name, value]) => `-c ${name}=${value}`);
  const options = ["-h 127.0.0.1", `-p ${port}`, `-k ${folder}`, ...given].join(" ");
  const start = () =>
    run("pg_ctl", ["-D", data, "-w", "-l", join(folder, "log"), "-o", options, "start"]);
  const halt = () => run("pg_ctl", ["-D", data, "-w", "-m", "immediate", "stop"]);
  start();
  const at = ["-h", "127.0.0.1", "-p", String(port), "-U", "tidegate"];
  run("createdb", [...at, "ledger"]);
  let stopped = false;
  return {
    url: `postgres://tidegate@127.0.0.1:${port}/ledger`,
    start,
    halt,
    stop() {
      if (stopped) return;
      stopped = true;
      if (existsSync(join(data, "postmaster.pid"))) halt();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
