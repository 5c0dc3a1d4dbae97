// Audits in simulated worlds: beside live traffic, with crashes, lost answers, purged queues,
// overwritten and deleted objects. The checkers compare what audits say with what happened.

import { expect, test } from "vitest";
import { afterPromiseJobs as drain } from "../../src/platform/system-turn.ts";
import { runSeed } from "../../src/sim/run-seed.ts";
import { AUDIT_FLAWS, AUDIT_TOPOLOGY, LOSSY_MIX } from "../planted/audit-bugs.ts";

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

test.each(Object.entries(AUDIT_FLAWS))("a flaw is found: %s", async (_, { parts, symptom }) => {
  let isReported = false;
  for (let seed = 1; seed <= FLAW_SEEDS && !isReported; seed += 1) {
    const topology = { ...AUDIT_TOPOLOGY, poison: 0.2, handlerMsMax: 2_000 };
    const report = await runSeed(seed, { drain, topology, parts, mix: LOSSY_MIX, hours: HOURS });
    isReported = report.violations.some(({ checker }) => checker === symptom);
  }
  expect(isReported).toBe(true);
});
