// Judge seed: runs one seed of the simulated world, and shortens its run if a guarantee broke.

import { runSeed } from "./run-seed.ts";
import type { Drain } from "./scheduler.ts";
import { shrinkSeed } from "./shrink.ts";
import { writeStory } from "./story.ts";

export interface SeedOrder {
  readonly seed: number;
  readonly hours: number;
  readonly shrinks: boolean;
}

export interface SeedVerdict {
  readonly seed: number;
  readonly traceHash: string;
  readonly deliveries: number;
  readonly elapsedMs: number;
  readonly steps: number;
  readonly faults: number;
  readonly violations: readonly { readonly checker: string; readonly message: string }[];
  /** The shortest failing schedule, in words; empty if the seed passed. */
  readonly story: readonly string[];
}

export async function judgeSeed(order: SeedOrder, drain: Drain): Promise<SeedVerdict> {
  const { seed, hours, shrinks } = order;
  const report = await runSeed(seed, { drain, hours });
  const { traceHash, deliveries, elapsedMs, steps, violations, fired } = report;
  const counts = { seed, traceHash, deliveries, elapsedMs, steps, faults: fired.length };
  if (violations.length === 0) return { ...counts, violations: [], story: [] };
  const smallest = shrinks ? (await shrinkSeed(report, { drain, hours })).report : report;
  const again = `tidegate sim --seed ${seed}${hours === 1 ? "" : ` --hours ${hours}`}`;
  return {
    ...counts,
    violations: violations.map(({ checker, message }) => ({ checker, message })),
    story: writeStory(smallest, again),
  };
}
