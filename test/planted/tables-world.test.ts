import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { isFullSize, sampleOf } from "../support/full-size.ts";
import { patienceMs } from "../support/patience.ts";
import { occurrencesOf } from "./planted-bug.ts";
import { TABLES_BUGS } from "./tables-bugs.ts";
import { runTablesSeed } from "./tables-world.ts";

/** Seeds to run, from the first one on. */
const SEEDS = Number(process.env.TIDEGATE_TABLE_SEEDS ?? (isFullSize ? "8" : "3"));
const FIRST = Number(process.env.TIDEGATE_TABLE_SEED ?? "1");
const RUN_MS_MAX = patienceMs(1_200_000);
const HUNT = fileURLToPath(new URL("tables-hunt.ts", import.meta.url));
const HUNT_SEEDS_MAX = 100;
/** The seeds to try first. */
const FIRST_SEEDS: Readonly<Record<string, number>> = {
  "quarantine-not-awaited": 24,
  "set-without-a-commit": 4,
  "ended-set-listed": 7,
  "redrive-replaces-the-version": 3,
  "last-chunk-forgotten": 3,
  "stages-never-swept": 9,
};

test(
  "large objects, quarantined rows and existing tables survive faults at every step",
  async () => {
    for (let seed = FIRST; seed < FIRST + SEEDS; seed += 1) {
      expect([seed, await runTablesSeed(seed)]).toEqual([seed, []]);
    }
  },
  RUN_MS_MAX,
);

async function hunt(bug: string, first: number, last: number): Promise<unknown> {
  const args = [HUNT, bug, String(first), String(last)];
  const { stdout } = await promisify(execFile)(process.execPath, args, { timeout: RUN_MS_MAX });
  return JSON.parse(stdout);
}

test.each(TABLES_BUGS)("the text that $name replaces occurs exactly once in its file", (bug) => {
  expect(occurrencesOf(bug)).toBe(1);
});

describe("the tables world catches:", () => {
  test.each(sampleOf(3, TABLES_BUGS))(
    "$name",
    async (bug) => {
      const seed = FIRST_SEEDS[bug.name] ?? 1;
      const caught =
        (await hunt(bug.name, seed, seed)) ?? (await hunt(bug.name, 1, HUNT_SEEDS_MAX));
      expect(caught).not.toBeNull();
      expect(await runTablesSeed((caught as { readonly seed: number }).seed)).toEqual([]);
    },
    RUN_MS_MAX,
  );
});
