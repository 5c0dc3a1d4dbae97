// Shrink: makes a failing run small enough to be read: fewer records, fewer faults, the same broken
// promise.
//   K1. What is left out shifts nothing else: records and faults are drawn by name.
//   K2. The number of runs is bounded; what is reached by then is what is told.
//   K3. A smaller run may break other promises as well; the one that was broken first is told.

import type { RunSeedOptions, SeedReport } from "./run-seed.ts";
import { runSeed } from "./run-seed.ts";

export interface ShrunkRun {
  readonly report: SeedReport;
  /** How many runs it took. */
  readonly runs: number;
}

const RUNS_MAX_DEFAULT = 150;

export interface ShrinkOptions extends RunSeedOptions {
  readonly runsMax?: number;
}

/** The smallest run found that breaks the same promise as `failed` does first. */
export async function shrinkSeed(failed: SeedReport, options: ShrinkOptions): Promise<ShrunkRun> {
  const { runsMax = RUNS_MAX_DEFAULT } = options;
  const checker = failed.violations[0]?.checker;
  const all = Array.from({ length: failed.topology.events }, (_, at) => `e${at + 1}`);
  let best = failed;
  let runs = 0;

  async function tryWith(items: readonly string[], faults: readonly string[]): Promise<boolean> {
    if (runs >= runsMax) return false; // K2
    runs += 1;
    const kept = new Set(items);
    const skipped = new Set(all.filter((name) => !kept.has(name)));
    const only = new Set(faults);
    const report = await runSeed(failed.seed, { ...options, skipped, only });
    const same = report.violations.filter((violation) => violation.checker === checker);
    if (same.length === 0) return false;
    const others = report.violations.filter((violation) => violation.checker !== checker);
    best = { ...report, violations: [...same, ...others] }; // K3
    return true;
  }

  let items = all;
  let faults = failed.fired.map(({ id }) => id);
  const named = new Set(failed.violations[0]?.names.filter((name) => all.includes(name)));
  if (named.size > 0 && (await tryWith([...named], faults))) items = [...named];
  for (let round = 0; round < 2; round += 1) {
    faults = await reduce(faults, (some) => tryWith(items, some));
    items = await reduce(items, (some) => tryWith(some, faults));
  }
  return { report: best, runs };
}

/** Takes away ever smaller parts for as long as the rest still fails (Zeller's ddmin). */
async function reduce(
  start: readonly string[],
  fails: (some: readonly string[]) => Promise<boolean>,
): Promise<string[]> {
  let left = [...start];
  if (left.length > 0 && (await fails([]))) return [];
  for (let parts = 2; left.length >= 2; ) {
    const size = Math.ceil(left.length / parts);
    let smaller: string[] | null = null;
    for (let from = 0; from < left.length && smaller === null; from += size) {
      const rest = [...left.slice(0, from), ...left.slice(from + size)];
      if (await fails(rest)) smaller = rest;
    }
    if (smaller !== null) {
      left = smaller;
      parts = Math.max(2, parts - 1);
    } else if (size === 1) break;
    else parts = Math.min(left.length, parts * 2);
  }
  return left;
}
