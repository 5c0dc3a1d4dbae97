// Thread priority: lets a thread of background work step back behind the rest of the process.
//   T1. Only Linux has a priority per thread. Elsewhere the call would slow the whole process, so
//       nothing is changed there.

import { setPriority } from "node:os";

const CALLING_THREAD = 0;
const BACKGROUND = 10;

/** Gives the calling thread a lower priority where the system can (T1). */
export function lowerThreadPriority(): void {
  if (process.platform !== "linux") return; // T1
  try {
    setPriority(CALLING_THREAD, BACKGROUND);
  } catch {
    // A sandbox may forbid it; the thread then runs as any other.
  }
}
