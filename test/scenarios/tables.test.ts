// Tables in simulated worlds: what the simulator found, with the smallest world that shows it.

import { expect, test } from "vitest";
import { afterPromiseJobs as drain } from "../../src/platform/system-turn.ts";
import { NO_FAULTS } from "../../src/sim/faults/fault-mix.ts";
import { runSeed } from "../../src/sim/run-seed.ts";

const TABLES = {
  existing: true,
  onReplaced: "delete",
  large: 1,
  bad: 0,
  redrives: 0,
  repairAt: 1,
  replays: 0,
} as const;

const SMALL = {
  contents: "objects",
  sink: "transactional",
  versioned: true,
  onMissing: "dead-letter",
  events: 20,
  groups: 3,
  attempts: 2,
  recordsMax: 1,
} as const;

const isStagingFailure = (what: string) => /ledger\.stage/.test(what);

test("a ledger that is down while a large file is staged is not counted against the file", async () => {
  const rates = { ...NO_FAULTS.rates, refused: 0.05, "answer-lost": 0.05 };
  const report = await runSeed(3, {
    drain,
    hours: 0.25,
    topology: { ...SMALL, tables: TABLES },
    mix: { ...NO_FAULTS, rates },
  });
  expect(report.fired.some(({ id }) => isStagingFailure(id))).toBe(true);
  expect(report.violations).toEqual([]);
});

test("a ledger that is down while quarantined rows are read is not counted against them", async () => {
  const rates = { ...NO_FAULTS.rates, refused: 0.05, "answer-lost": 0.05 };
  const tables = { ...TABLES, large: 0, bad: 0.5, redrives: 6, repairAt: 0.3 };
  const report = await runSeed(3, {
    drain,
    hours: 0.25,
    topology: { ...SMALL, tables },
    mix: { ...NO_FAULTS, rates },
  });
  const redrives = report.events.filter(
    (event) => event.kind === "table-write" && event.what === "redrive",
  );
  expect(redrives.length).toBeGreaterThan(0);
  expect(report.violations).toEqual([]);
});

test("a replay ends if late files make some of its events older than what it applied", async () => {
  const tables = { ...TABLES, large: 0, replays: 2 };
  const report = await runSeed(3, {
    drain,
    hours: 0.25,
    topology: { ...SMALL, tables, lateEvents: 0.5, late: "process" },
    mix: NO_FAULTS,
  });
  const ended = report.events.filter(({ kind }) => kind === "replay-ended");
  expect(ended).toHaveLength(2);
  expect(report.violations).toEqual([]);
});
