// Audits in simulated worlds: beside live traffic, with crashes, lost answers, purged queues,
// overwritten and deleted objects. The checkers compare what audits say with what happened.

import { expect, test } from "vitest";
import { afterPromiseJobs as drain } from "../../src/platform/system-turn.ts";
import { NO_FAULTS } from "../../src/sim/faults/fault-mix.ts";
import { runSeed } from "../../src/sim/run-seed.ts";
import {
  AUDIT_BACKFILL_TOPOLOGY,
  AUDIT_FLAWS,
  AUDIT_TOPOLOGY,
  LOSSY_MIX,
  MISTAKEN_WORLDS,
} from "../planted/audit-bugs.ts";
import { sampleOf } from "../support/full-size.ts";

const SEEDS = Number(process.env.TIDEGATE_AUDIT_SEEDS ?? 2);
const HOURS = 0.3;
/** A flaw has to show in one of these worlds. */
const FLAW_SEEDS = 12;

test("an audit sees every loss and cries no wolf, whatever fails beside it", async () => {
  let audits = 0;
  for (let seed = 1; seed <= SEEDS; seed += 1) {
    const report = await runSeed(seed, { drain, topology: AUDIT_TOPOLOGY, hours: HOURS });
    expect(report.violations, `seed ${seed}`).toEqual([]);
    audits += report.events.filter(({ kind }) => kind === "audited").length;
  }
  expect(audits).toBeGreaterThan(0);
});

test("audits find what a purge of the queue has lost", async () => {
  let missing = 0;
  for (let seed = 1; seed <= FLAW_SEEDS && missing === 0; seed += 1) {
    const report = await runSeed(seed, {
      drain,
      topology: { ...AUDIT_TOPOLOGY, poison: 0.2 },
      mix: LOSSY_MIX,
      hours: HOURS,
    });
    expect(report.violations, `seed ${seed}`).toEqual([]);
    for (const event of report.events) {
      if (event.kind !== "audited") continue;
      missing += event.findings.filter(({ status }) => status === "missing").length;
    }
  }
  expect(missing).toBeGreaterThan(0);
});

test.each(sampleOf(2, Object.entries(AUDIT_FLAWS)))(
  "a flaw is found: %s",
  async (_, { parts, symptom }) => {
    let isReported = false;
    for (let seed = 1; seed <= FLAW_SEEDS && !isReported; seed += 1) {
      const topology = { ...AUDIT_TOPOLOGY, poison: 0.2, handlerMsMax: 2_000 };
      const report = await runSeed(seed, { drain, topology, parts, mix: LOSSY_MIX, hours: HOURS });
      isReported = report.violations.some(({ checker }) => checker === symptom);
    }
    expect(isReported).toBe(true);
  },
);

test.each(Object.entries(MISTAKEN_WORLDS))("audits report it: %s", async (_, world) => {
  const { seed, topology, status } = world;
  const mix = { ...NO_FAULTS, timeline: { ...NO_FAULTS.timeline, ...world.timeline } };
  const run = async (parts: typeof world.parts) => {
    const report = await runSeed(seed, { drain, topology, mix, parts, hours: HOURS });
    const audited = report.events.filter((event) => event.kind === "audited");
    const reported = audited.flatMap(({ findings }) => findings.map((one) => one.status));
    const checkers = new Set(report.violations.map(({ checker }) => checker));
    return { isReported: reported.includes(status), checkers };
  };
  const right = await run(world.parts);
  expect(right.isReported).toBe(true);
  expect([...right.checkers].filter((name) => name.startsWith("audit"))).toEqual([]);
  const wrong = await run({ ...world.parts, ...world.flaw });
  expect(wrong.isReported).toBe(false);
  expect([...wrong.checkers]).toContain("audit-sees-loss");
});

// The clock of the consumer that ingested the removal is behind that of a backfill.
test("a removal after a backfill leaves no orphan, though clocks differ (seed 25)", async () => {
  const report = await runSeed(25, { drain, topology: AUDIT_BACKFILL_TOPOLOGY, hours: HOURS });
  expect(report.violations).toEqual([]);
});
