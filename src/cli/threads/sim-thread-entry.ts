// Sim thread: runs one seed per message and answers with the verdict.

import { parentPort } from "node:worker_threads";
import { present } from "../../core/assert.ts";
import { afterPromiseJobs as drain } from "../../platform/system-turn.ts";
import { runSeed } from "../../sim/run-seed.ts";
import { shrinkSeed } from "../../sim/shrink.ts";
import { writeStory } from "../../sim/story.ts";
import type { SeedOrder, SeedVerdict } from "./sim-threads.ts";

// Simulated errors are created by the thousand, and their stacks are never read.
Error.stackTraceLimit = 0;

const port = present(parentPort, "the port of a worker thread");

async function judge({ seed, hours, shrinks }: SeedOrder): Promise<SeedVerdict> {
  const report = await runSeed(seed, { drain, hours });
  const { traceHash, deliveries, elapsedMs, steps, violations, fired } = report;
  const counts = { seed, traceHash, deliveries, elapsedMs, steps, faults: fired.length };
  if (violations.length === 0) return { ...counts, violations: [], story: [] };
  const smallest = shrinks ? (await shrinkSeed(report, { drain, hours })).report : report;
  return {
    ...counts,
    violations: violations.map(({ checker, message }) => ({ checker, message })),
    story: writeStory(
      smallest,
      `tidegate sim --seed ${seed}${hours === 1 ? "" : ` --hours ${hours}`}`,
    ),
  };
}

port.on("message", (order: SeedOrder) => {
  judge(order).then(
    (verdict) => port.postMessage(verdict),
    (error: unknown) => {
      throw error;
    },
  );
});
