// Real turns: waits until all work in progress in this process has ended, for simulated worlds
// with virtual time.

import { systemTurn } from "./system-turn.ts";

/** How long work outside the simulated world, such as decompression, may take in real time. */
const WAIT_MS_MAX = 5_000;

/**
 * Resolves after all promise jobs have run, and then after `busy` returns false. Returns false if
 * that takes longer than WAIT_MS_MAX.
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
