// The simulated world with one task per message: dispatchers crash, freeze and lose responses while
// their tasks run on. The checkers of the simulator judge the histories.

import { expect, test } from "vitest";
import { afterPromiseJobs } from "../../src/platform/system-turn.ts";
import { runSeed } from "../../src/sim/run-seed.ts";
import { createSimTaskPipeline, SimMachine } from "../support/sim-launcher.ts";

const SEEDS = Array.from(
  { length: Number(process.env.TIDEGATE_ADAPTER_SEEDS ?? 6) },
  (_, at) => at,
);

test.each(SEEDS)("seed %i: dispatchers lose nothing and apply each record once", async (seed) => {
  const machine = new SimMachine();
  const { violations, events } = await runSeed(seed, {
    drain: afterPromiseJobs,
    topology: { contents: "messages", hanging: 0 },
    parts: { createPipeline: (tools) => createSimTaskPipeline(tools, machine) },
  });
  expect([violations, machine.doubled]).toEqual([[], []]);
  expect(events.filter(({ kind }) => kind === "committed").length).toBeGreaterThan(0);
});
