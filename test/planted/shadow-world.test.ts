import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { patienceMs } from "../support/patience.ts";
import { occurrencesOf } from "./planted-bug.ts";
import { SHADOW_BUGS } from "./shadow-bugs.ts";
import { runShadowSeed } from "./shadow-world.ts";

/** Seeds to run, from the first one on. */
const SEEDS = Number(process.env.TIDEGATE_SHADOW_SEEDS ?? "40");
const FIRST = Number(process.env.TIDEGATE_SHADOW_SEED ?? "1");
const RUN_MS_MAX = patienceMs(600_000);
const HUNT = fileURLToPath(new URL("shadow-hunt.ts", import.meta.url));
const HUNT_SEEDS_MAX = 300;

test(
  "a promotion loses no live write, and a difference predicts it, in any order of events",
  async () => {
    for (let seed = FIRST; seed < FIRST + SEEDS; seed += 1) {
      expect([seed, await runShadowSeed(seed)]).toEqual([seed, []]);
    }
  },
  RUN_MS_MAX,
);

describe("the shadow world catches:", () => {
  test.each(SHADOW_BUGS)(
    "$name",
    async (bug) => {
      expect(occurrencesOf(bug)).toBe(1);
      const args = [HUNT, bug.name, "1", String(HUNT_SEEDS_MAX)];
      const { stdout } = await promisify(execFile)(process.execPath, args, { timeout: RUN_MS_MAX });
      const caught = JSON.parse(stdout) as { readonly seed: number } | null;
      expect(caught).not.toBeNull();
      expect(await runShadowSeed(caught?.seed ?? 0)).toEqual([]);
    },
    RUN_MS_MAX,
  );
});
