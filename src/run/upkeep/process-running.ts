// Process running: how the ledger names a process, and whether that process still runs.

import { hostname } from "node:os";

interface NamedProcess {
  readonly host: string;
  readonly pid: number;
}

export function thisProcess(): NamedProcess {
  return { host: hostname(), pid: process.pid };
}

/** False for a process of this machine that ended; on another machine, only a heartbeat tells. */
export function mayRun({ host, pid }: NamedProcess): boolean {
  return host !== hostname() || isProcessRunning(pid);
}

/** Whether a process of this machine is alive. */
export function isProcessRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as { readonly code?: string }).code === "EPERM"; // Alive, and another user's.
  }
}
