// Process id: whether a process that was noted is still the same one.
//   I1. An id alone is not enough: the operating system uses it again. On Linux the time at which
//       the process started is compared, too.
//   I2. A process that has ended, and that its parent has not collected, counts as ended.

import { existsSync, readFileSync } from "node:fs";

export interface ProcessId {
  readonly pid: number;
  /** In clock ticks since the machine started; null where it is not known. */
  readonly startedAt: string | null;
}

const FIELD_STATE = 0;
const FIELD_START = 19;

/** The fields of /proc/PID/stat after the name of the program; null if there are none. */
function statOf(pid: number): string[] | null {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, "latin1");
    return text.slice(text.lastIndexOf(")") + 2).split(" ");
  } catch {
    return null;
  }
}

export function processIdOf(pid: number): ProcessId {
  return { pid, startedAt: statOf(pid)?.[FIELD_START] ?? null };
}

export function isRunning({ pid, startedAt }: ProcessId): boolean {
  if (existsSync("/proc/self/stat")) {
    const stat = statOf(pid);
    if (stat === null || /[ZX]/.test(stat[FIELD_STATE] ?? "Z")) return false; // I2
    return startedAt === null || stat[FIELD_START] === startedAt; // I1
  }
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as { code?: string }).code === "EPERM";
  }
}
