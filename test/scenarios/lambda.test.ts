// The simulated world with functions of Lambda in place of consumers: crashes, frozen processes,
// lost responses, duplicates and outages, judged by the checkers of the simulator. On AWS a handler
// may take as long as its function; handlers that hang are tested in real time.

import { expect, test } from "vitest";
import { afterPromiseJobs } from "../../src/platform/system-turn.ts";
import { runSeed } from "../../src/sim/run-seed.ts";
import { createLambdaConsumer, type LambdaConsumerOptions } from "../support/lambda-consumer.ts";

const TIMEOUT_MS = 60_000;
/** The slowest handler of the world takes a few of these, and less than the function's timeout. */
const TOPOLOGY = { visibilityMs: 10_000, hanging: 0 };
const SEEDS = Array.from(
  { length: Number(process.env.TIDEGATE_ADAPTER_SEEDS ?? 6) },
  (_, at) => at,
);

function run(seed: number, options: Partial<LambdaConsumerOptions> = {}) {
  return runSeed(seed, {
    drain: afterPromiseJobs,
    topology: TOPOLOGY,
    parts: {
      createConsumer: (ports, of) =>
        createLambdaConsumer(ports, of, { timeoutMs: TIMEOUT_MS, ...options }),
    },
  });
}

test.each(SEEDS)("seed %i: functions lose nothing and apply each record once", async (seed) => {
  const { violations, events } = await run(seed);
  expect(violations).toEqual([]);
  expect(events.filter(({ kind }) => kind === "committed").length).toBeGreaterThan(0);
});

test("a function that reports no failures loses messages, which the checkers notice", async () => {
  const { violations } = await run(0, { answer: () => ({ batchItemFailures: [] }) });
  expect(violations.map(({ checker }) => checker)).toContain("ack-after-commit");
});
