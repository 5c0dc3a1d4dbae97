// Backfills in simulated worlds: beside live traffic, with crashes, lost answers, overwritten and
// deleted objects. Every checker of the simulator applies, and so does "listed-or-live".

import { describe, expect, test } from "vitest";
import { runBackfill } from "../../src/backfill/backfill.ts";
import { afterPromiseJobs as drain } from "../../src/platform/system-turn.ts";
import type { Ledger } from "../../src/ports/ledger.ts";
import { NO_FAULTS } from "../../src/sim/faults/fault-mix.ts";
import { runSeed } from "../../src/sim/run-seed.ts";
import type { WorldParts } from "../../src/sim/world-parts.ts";
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

/** A backfill that never sees a pause. */
const unpausable: WorldParts["runBackfill"] = (ports, ...rest) => {
  const ledger: Ledger = {
    ...ports.ledger,
    findNote: async (scope, kind, name) =>
      kind === "paused" ? undefined : await ports.ledger.findNote(scope, kind, name),
  };
  return runBackfill({ ...ports, ledger }, ...rest);
};

// The operator pauses the pipeline while backfills run.
test("a pause holds backfills as it holds consumers (seed 18)", async () => {
  const options = { drain, topology: { ...BACKFILL_TOPOLOGY, backfills: 6 }, hours: HOURS };
  expect((await runSeed(18, options)).violations).toEqual([]);
  const flawed = await runSeed(18, { ...options, parts: { runBackfill: unpausable } });
  expect(new Set(flawed.violations.map(({ checker }) => checker))).toEqual(
    new Set(["pause-honoured"]),
  );
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
