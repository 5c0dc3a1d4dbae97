// Process one: a command as process 1 of its own PID namespace, as in a container.
//   N1. Its package is installed in the folder of the test: node_modules/.bin/tidegate starts the
//       command from this tree, and the PATH has no other.
//   N2. A signal goes to process 1 itself, as an orchestrator sends it, and not to `unshare`.

import {
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

/** Makes `node_modules/.bin/tidegate` in that folder start `main` (N1). */
export function installCommand(folder: string, main: string): void {
  const bin = join(folder, "node_modules", ".bin");
  mkdirSync(bin, { recursive: true });
  const entry = join(folder, "node_modules", "tidegate-command.mjs");
  writeFileSync(entry, `#!/usr/bin/env node\nawait import("${pathToFileURL(main)}");\n`);
  chmodSync(entry, 0o755);
  symlinkSync("../tidegate-command.mjs", join(bin, "tidegate"));
}

/** Sends a signal to process 1 below that `unshare` (N2). */
export function signalProcessOne(unsharePid: number, signal: NodeJS.Signals): void {
  process.kill(childOf(unsharePid), signal);
}

function childOf(parent: number): number {
  for (const name of readdirSync("/proc")) {
    if (/^\d+$/.test(name) && statOf(name)?.parent === parent) return Number(name);
  }
  throw new Error(`process ${parent} has no child`);
}

/** Processes below that `unshare` that have ended and that no parent has waited for. */
export function zombiesBelow(unsharePid: number): number {
  const one = childOf(unsharePid);
  const stats = readdirSync("/proc").map((name) => (/^\d+$/.test(name) ? statOf(name) : null));
  return stats.filter((stat) => stat?.parent === one && stat.state === "Z").length;
}

/** State and parent of a process; null once it is gone. */
function statOf(pid: string): { readonly state: string; readonly parent: number } | null {
  try {
    const stat = readFileSync(join("/proc", pid, "stat"), "utf8");
    const [state = "", parent] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return { state, parent: Number(parent) };
  } catch {
    return null;
  }
}
