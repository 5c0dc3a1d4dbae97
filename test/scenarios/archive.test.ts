// Archived messages in simulated worlds: consumers archive beside crashes, lost answers and
// outages, and replays run from the archive, during the faults and after them.

import { describe, expect, test } from "vitest";
import { afterPromiseJobs as drain } from "../../src/platform/system-turn.ts";
import { runSeed } from "../../src/sim/run-seed.ts";
import { drawSwarm } from "../../src/sim/swarm.ts";
import { ARCHIVE_FLAWS, ARCHIVE_TOPOLOGY } from "../planted/archive-bugs.ts";

const SEEDS = Number(process.env.TIDEGATE_ARCHIVE_SEEDS ?? 3);
const HOURS = 0.3;
/** A flaw has to show in one of these worlds. */
const FLAW_SEEDS = 12;

/** Every second world hides event times, so that no replay can read a masked message. */
function archiveTopology(seed: number) {
  const { fifo, onPoison } = drawSwarm(seed).topology;
  const refused = fifo && onPoison === "halt" ? 0 : 0.1; // A refused message would block its group.
  return { ...ARCHIVE_TOPOLOGY, refused, masksTimes: seed % 2 === 0 };
}

test("messages are archived before their commits, masked as they were handled, and replays give handlers the same", async () => {
  const counts = { archived: 0, masked: 0, replayed: 0, unreadable: 0 };
  for (let seed = 1; seed <= SEEDS; seed += 1) {
    const options = { drain, topology: archiveTopology(seed), hours: HOURS };
    const report = await runSeed(seed, options);
    expect(report.violations, `seed ${seed}`).toEqual([]);
    for (const event of report.events) {
      if (event.kind === "messages-replayed") counts.replayed += event.committed;
      if (event.kind === "not-replayable") {
        counts.unreadable += 1;
        expect(seed % 2, `seed ${seed} hides no times`).toBe(0);
      }
      if (event.kind !== "archived") continue;
      counts.archived += 1;
      if (event.masked) counts.masked += 1;
    }
  }
  for (const count of Object.values(counts)) expect(count).toBeGreaterThan(0);
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
