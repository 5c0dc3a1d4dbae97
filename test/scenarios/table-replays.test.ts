// Replays of tables in simulated worlds: the production table sink with live traffic, crashes, lost
// answers and outages, while replays fill shadows that are promoted or dropped.

import { expect, test } from "vitest";
import { afterPromiseJobs as drain } from "../../src/platform/system-turn.ts";
import { createNamedDice } from "../../src/sim/faults/named-random.ts";
import { runSeed } from "../../src/sim/run-seed.ts";
import { drawSwarm } from "../../src/sim/swarm.ts";
import { drawTables } from "../../src/sim/tables/tables-topology.ts";
import { patienceMs } from "../support/patience.ts";

const RUN_MS_MAX = patienceMs(900_000);
const SEEDS = Number(process.env.TIDEGATE_TABLE_REPLAY_SEEDS ?? 1);

/** What the seed draws, on files that fill tables, with two to four replays. */
function tablesTopology(seed: number) {
  const dice = createNamedDice(seed, "table replays");
  const { onMissing } = drawSwarm(seed).topology;
  const replays = dice.whole("replays", 2, 4);
  return {
    contents: "objects",
    sink: "transactional",
    own: false,
    fifo: false,
    objectsSink: false,
    batches: 0,
    refused: 0,
    versioned: true,
    onMissing: onMissing === "drop" ? "dead-letter" : onMissing,
    events: dice.scaled("events", 60, 200),
    groups: dice.whole("objects", 1, 6),
    tables: { ...drawTables(dice), replays },
  } as const;
}

test("replays of tables beside live traffic and faults keep every guarantee", {
  timeout: RUN_MS_MAX,
}, async () => {
  let ended = 0;
  for (let seed = 1; seed <= SEEDS; seed += 1) {
    const report = await runSeed(seed, { drain, topology: tablesTopology(seed) });
    expect(report.violations, `seed ${seed}`).toEqual([]);
    ended += report.events.filter(({ kind }) => kind === "replay-ended").length;
  }
  expect(ended).toBeGreaterThan(0);
});
