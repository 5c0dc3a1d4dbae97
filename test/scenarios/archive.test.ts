// Archived messages in simulated worlds: consumers archive beside crashes, lost answers and
// outages, and replays run from the archive, during the faults and after them.

import { describe, expect, test } from "vitest";
import { afterPromiseJobs as drain } from "../../src/platform/system-turn.ts";
import { runSeed } from "../../src/sim/run-seed.ts";
import { ARCHIVE_FLAWS, ARCHIVE_TOPOLOGY } from "../planted/archive-bugs.ts";

const SEEDS = Number(process.env.TIDEGATE_ARCHIVE_SEEDS ?? 3);
const HOURS = 0.3;
/** A flaw has to show in one of these worlds. */
const FLAW_SEEDS = 12;

test("messages are archived before their commits, and replays give handlers the same", async () => {
  let [archived, replayed] = [0, 0];
  for (let seed = 1; seed <= SEEDS; seed += 1) {
    const report = await runSeed(seed, { drain, topology: ARCHIVE_TOPOLOGY, hours: HOURS });
    expect(report.violations, `seed ${seed}`).toEqual([]);
    archived += report.events.filter(({ kind }) => kind === "archived").length;
    for (const event of report.events) {
      if (event.kind === "messages-replayed") replayed += event.committed;
    }
  }
  expect(archived).toBeGreaterThan(0);
  expect(replayed).toBeGreaterThan(0);
});

describe("a flaw is found", () => {
  test.each(Object.entries(ARCHIVE_FLAWS))("%s", async (_, { parts, checker }) => {
    let isReported = false;
    for (let seed = 1; seed <= FLAW_SEEDS && !isReported; seed += 1) {
      const refused = { refused: 0.2, fifo: false };
      const topology = { ...ARCHIVE_TOPOLOGY, ...refused };
      const report = await runSeed(seed, { drain, topology, parts, hours: HOURS });
      isReported = report.violations.some((violation) => violation.checker === checker);
    }
    expect(isReported).toBe(true);
  });
});
