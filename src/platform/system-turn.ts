// Turns of Node's event loop: immediates run once all input of the turn has been read.

import type { Turn } from "../ports/turn.ts";

export const systemTurn: Turn = {
  afterTurn: (work) => void setImmediate(work),
};

/**
 * Resolves once all promise jobs under way have run: ticks asked for by a promise job come after
 * the last of them. It costs next to nothing, unlike a turn of the event loop, and lets nothing
 * else in.
 */
export function afterPromiseJobs(): Promise<void> {
  return new Promise((resolve) => process.nextTick(resolve));
}
