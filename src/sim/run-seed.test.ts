import { expect, test } from "vitest";
import { sampleOf } from "../../test/support/full-size.ts";
import { systemRandom } from "../platform/system-random.ts";
import { afterPromiseJobs as drain } from "../platform/system-turn.ts";
import { runSeed } from "./run-seed.ts";
import { writeStory } from "./story.ts";

/** At least one chunk, and a tenth as many fresh seeds. */
const FIXED = Number(process.env.TIDEGATE_SIM_SEEDS ?? 10);
const FRESH = Math.ceil(FIXED / 10);
const CHUNK = 10;
/** Smaller worlds than `tidegate sim` draws, so that many of them fit into a test. */
const SMALL = { hours: 0.25, topology: { events: 60 } };

async function expectNoViolations(seeds: readonly number[]): Promise<void> {
  for (const seed of seeds) {
    const report = await runSeed(seed, { drain, ...SMALL });
    const replay = `the small world of seed ${seed}, in this test`;
    const broken = report.violations.length > 0;
    expect(broken ? writeStory(report, replay).join("\n") : "").toBe("");
  }
}

const from = (first: number, count: number) => Array.from({ length: count }, (_, at) => first + at);

test.each(from(0, Math.ceil(FIXED / CHUNK)).map((at) => [at * CHUNK + 1, (at + 1) * CHUNK]))(
  "every promise is kept in the worlds of seeds %i to %i",
  (first) => expectNoViolations(from(first, CHUNK)),
);

/** Their worlds once broke a promise. */
test.each([331_685_651])("every promise is kept in the world of seed %i", (seed) => {
  return expectNoViolations([seed]);
});

test("every promise is kept in the worlds of fresh random seeds", async () => {
  const fresh = Array.from({ length: FRESH }, () => systemRandom.below(1_000_000_000));
  console.log(`fresh seeds: ${fresh.join(" ")}`);
  await expectNoViolations(fresh);
});

test.each(sampleOf(3, [3, 7, 12, 23, 41]))(
  "two runs of seed %i take the same steps",
  async (seed) => {
    const one = await runSeed(seed, { drain, ...SMALL });
    const two = await runSeed(seed, { drain, ...SMALL });
    expect(two.traceHash).toBe(one.traceHash);
    expect(two.events).toEqual(one.events);
  },
);

test("draining by event-loop turns gives the same steps as draining promise jobs", async () => {
  const byTurns = () => new Promise<void>((resolve) => setImmediate(resolve));
  const one = await runSeed(5, { drain, ...SMALL });
  const two = await runSeed(5, { drain: byTurns, ...SMALL });
  expect(two.traceHash).toBe(one.traceHash);
});

test("different seeds take different steps", async () => {
  const hashes = new Set<string>();
  for (const seed of from(1, 3)) hashes.add((await runSeed(seed, { drain, ...SMALL })).traceHash);
  expect(hashes.size).toBe(3);
});

test("leaving out a fault does not shift the others", async () => {
  const all = await runSeed(12, { drain, ...SMALL });
  const first = all.fired.slice(0, 1).map(({ id }) => id);
  const alone = await runSeed(12, { drain, ...SMALL, only: new Set(first) });
  expect(first).toHaveLength(1);
  expect(alone.fired).toEqual(all.fired.slice(0, 1));
});
