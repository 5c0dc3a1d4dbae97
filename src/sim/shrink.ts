// Shrink: reduces a failing run until it is small enough to read: fewer records, fewer faults, the
// same broken promise.
//   K1. Leaving something out shifts nothing else: records and faults are drawn by name.
//   K2. The number of runs is bounded; the smallest run so far is reported.
//   K3. A smaller run may break other promises as well; the one that broke first is reported.

import type { RunSeedOptions, SeedReport } from "./run-seed.ts";
import { runSeed } from "./run-seed.ts";

export interface ShrunkRun {
  readonly report: SeedReport;
  /** Runs that shrinking took. */
  readonly runs: number;
}

const RUNS_MAX_DEFAULT = 150;

export interface ShrinkOptions extends RunSeedOptions {
  readonly runsMax?: number;
}

/** The smallest run that breaks the promise which `failed` breaks first. */
export async function shrinkSeed(failed: SeedReport, options: ShrinkOptions): Promise<ShrunkRun> {
  const { runsMax = RUNS_MAX_DEFAULT } = options;
  const checker = failed.violations[0]?.checker;
  const all = Array.from({ length: failed.topology.events }, (_, at) => `e${at + 1}`);
  let best = failed;
  let runs = 0;

  async function tryWith(items: readonly string[], faults: readonly string[]): Promise<boolean> {
    if (runs >= runsMax) return false; // K2
    runs += 1;
    const included = new Set(items);
    const skipped = new Set(all.filter((name) => !included.has(name)));
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

/** Removes ever smaller parts while the rest still fails (Zeller's ddmin). */
async function reduce(
  start: readonly string[],
  fails: (some: readonly string[]) => Promise<boolean>,
): Promise<string[]> {
  let remaining = [...start];
  if (remaining.length > 0 && (await fails([]))) return [];
  for (let parts = 2; remaining.length >= 2; ) {
    const size = Math.ceil(remaining.length / parts);
    let smaller: string[] | null = null;
    for (let from = 0; from < remaining.length && smaller === null; from += size) {
      const rest = [...remaining.slice(0, from), ...remaining.slice(from + size)];
      if (await fails(rest)) smaller = rest;
    }
    if (smaller !== null) {
      remaining = smaller;
      parts = Math.max(2, parts - 1);
    } else if (size === 1) break;
    else parts = Math.min(remaining.length, parts * 2);
  }
  return remaining;
}
