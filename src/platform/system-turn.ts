// Turns of Node's event loop: immediates run after all input of the turn has been read.

import type { Turn } from "../ports/turn.ts";

export const systemTurn: Turn = {
  afterTurn: (work) => void setImmediate(work),
};

/**
 * Resolves after all pending promise jobs have run: a tick that a promise job requests runs after
 * the last of them. It is far cheaper than a turn of the event loop, and lets no other work in.
 */
export function afterPromiseJobs(): Promise<void> {
  return new Promise((resolve) => process.nextTick(resolve));
}
