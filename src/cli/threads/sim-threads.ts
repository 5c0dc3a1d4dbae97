// Sim threads: runs seeds on all cores. Each thread runs one seed at a time.
//   J1. Verdicts arrive in any order; each seed runs once.
//   J2. After FAILURES_MAX failing seeds, no new seed starts.

import { Worker } from "node:worker_threads";
import type { SeedOrder, SeedVerdict } from "../../sim/judge-seed.ts";

const ENTRY = `./sim-thread-entry.${import.meta.url.endsWith(".ts") ? "ts" : "js"}`;
/** A world consists of short-lived objects: a larger young generation copies fewer of them. */
const LIMITS = { maxYoungGenerationSizeMb: 128 };
/** Failing seeds that are shrunk and printed; the first few show what is wrong. */
const FAILURES_MAX = 3;

export interface SeedRun {
  readonly first: number;
  readonly count: number;
  readonly hours: number;
  readonly jobs: number;
}

/** Resolves when all seeds have run, or enough of them failed (J2). */
export async function runSeeds(
  run: SeedRun,
  onVerdict: (verdict: SeedVerdict) => void,
): Promise<void> {
  const end = run.first + run.count;
  let next = run.first;
  let failures = 0;
  const worker = () =>
    new Promise<void>((resolve, reject) => {
      const thread = new Worker(new URL(ENTRY, import.meta.url), { resourceLimits: LIMITS });
      const order = () => {
        if (next >= end || failures >= FAILURES_MAX) {
          void thread.terminate().then(() => resolve());
          return;
        }
        thread.postMessage({ seed: next, hours: run.hours, shrinks: true } satisfies SeedOrder);
        next += 1;
      };
      thread.on("error", reject);
      thread.on("message", (verdict: SeedVerdict) => {
        if (verdict.violations.length > 0) failures += 1;
        onVerdict(verdict);
        order();
      });
      order();
    });
  await Promise.all(Array.from({ length: Math.min(run.jobs, run.count) }, worker));
}
