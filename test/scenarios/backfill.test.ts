// Backfills in simulated worlds: beside live traffic, with crashes, lost answers, overwritten and
// deleted objects. Every checker of the simulator applies, and so does "listed-or-live".

import { describe, expect, test } from "vitest";
import { afterPromiseJobs as drain } from "../../src/platform/system-turn.ts";
import { NO_FAULTS } from "../../src/sim/faults/fault-mix.ts";
import { runSeed } from "../../src/sim/run-seed.ts";
import { BACKFILL_TOPOLOGY, isListedCommit, LISTING_FLAWS } from "../planted/listing-bugs.ts";

const SEEDS = Number(process.env.TIDEGATE_BACKFILL_SEEDS ?? 1);
const HOURS = 0.3;
/** A flaw has to show in one of these worlds. */
const FLAW_SEEDS = 4;

describe.each(["transactional", "idempotent"] as const)("%s sinks", (sink) => {
  test("backfills and events are never both applied, and nothing is lost", async () => {
    let listed = 0;
    for (let seed = 1; seed <= SEEDS; seed += 1) {
      const topology = { ...BACKFILL_TOPOLOGY, sink };
      const report = await runSeed(seed, { drain, topology, hours: HOURS });
      expect(report.violations, `seed ${seed}`).toEqual([]);
      listed += report.events.filter(isListedCommit).length;
    }
    expect(listed).toBeGreaterThan(0); // The worlds have backfills that commit.
  });
});

describe("a flaw is found", () => {
  test.each(Object.entries(LISTING_FLAWS))("%s", async (_, flaw) => {
    const reported = new Set<string>();
    for (let seed = 1; seed <= FLAW_SEEDS && reported.size === 0; seed += 1) {
      const topology = { ...BACKFILL_TOPOLOGY, sink: "transactional" } as const;
      const report = await runSeed(seed, {
        drain,
        topology,
        parts: flaw.parts,
        mix: NO_FAULTS,
        hours: HOURS,
      });
      for (const { checker } of report.violations) {
        if (flaw.symptoms.includes(checker)) reported.add(checker);
      }
    }
    expect(reported.size).toBeGreaterThan(0);
  });
});
