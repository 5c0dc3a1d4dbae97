// Real turns: lets everything that is under way in this process come to rest, for worlds whose own
// time is virtual.

import { systemTurn } from "./system-turn.ts";

/** Work outside the world, such as unpacking an object, may take so long in real time. */
const WAIT_MS_MAX = 5_000;

/**
 * Resolves once all promise jobs have run, and as long as `busy` says so, whatever else they wait
 * for, within bounds. Answers false if the bound was reached.
 */
export async function afterRealTurns(busy: () => boolean): Promise<boolean> {
  await turn();
  if (!busy()) return true;
  const until = performance.now() + WAIT_MS_MAX;
  while (busy()) {
    if (performance.now() > until) return false;
    await turn();
  }
  return true;
}

function turn(): Promise<void> {
  return new Promise((resolve) => systemTurn.afterTurn(() => resolve()));
}
