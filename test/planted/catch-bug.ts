// Catch bug: runs swarm seeds against a planted bug until its checker reports it.
//   C1. A seed counts only if the code without the bug has no violations at the same seed.
//   C2. first-seeds.json holds the seed to try first, and that seed is really run. If it no longer
//       catches the bug, because the simulator changed, the search starts at the first seed, within
//       the same bound.

import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { patienceMs } from "../support/patience.ts";
import type { HuntResult } from "./hunt.ts";
import type { PlantedBug } from "./planted-bug.ts";

/** Every bug must be caught within this many seeds. */
export const SEEDS_MAX = 2_000;
const HUNT_MS_MAX = patienceMs(1_200_000);
const HUNT = fileURLToPath(new URL("hunt.ts", import.meta.url));
const FIRST_SEEDS = new URL("first-seeds.json", import.meta.url);

export interface Caught {
  readonly seed: number;
  readonly checkers: readonly string[];
  readonly first: string;
}

export function firstSeeds(): Readonly<Record<string, number>> {
  return JSON.parse(readFileSync(FIRST_SEEDS, "utf8")) as Record<string, number>;
}

/** Runs seeds against a bug, or `none`, in a separate process. */
export async function hunt(bug: string, ...seeds: readonly string[]): Promise<HuntResult> {
  const args = [HUNT, bug, ...seeds];
  const { stdout } = await promisify(execFile)(process.execPath, args, { timeout: HUNT_MS_MAX });
  return JSON.parse(stdout) as HuntResult;
}

/** The first seed from `from` on at which the bug's checker reports it (C1), or null. */
export async function searchFor(bug: PlantedBug, from = 1): Promise<Caught | null> {
  for (let next = from; next <= SEEDS_MAX; ) {
    const { catches, planted } = await hunt(bug.name, `${next}..${SEEDS_MAX}`);
    if (!planted) throw new Error(`${bug.file} is not loaded by the simulated world`);
    const caught = catches.at(-1);
    if (caught === undefined || !caught.checkers.includes(bug.checker)) return null;
    if (await isClean(caught.seed)) return caught;
    next = caught.seed + 1;
  }
  return null;
}

/** Tries the recorded seed first, then all seeds (C2). */
export async function catchBug(bug: PlantedBug): Promise<Caught | null> {
  const recorded = firstSeeds()[bug.name];
  if (recorded !== undefined) {
    const { catches } = await hunt(bug.name, String(recorded));
    const [caught] = catches;
    if (caught?.checkers.includes(bug.checker) && (await isClean(recorded))) return caught;
  }
  return searchFor(bug);
}

const clean = new Map<number, Promise<boolean>>();

/** Whether a seed has no violations without a bug; runs once per seed. */
function isClean(seed: number): Promise<boolean> {
  const result =
    clean.get(seed) ?? hunt("none", String(seed)).then(({ catches }) => catches.length === 0);
  clean.set(seed, result);
  return result;
}
