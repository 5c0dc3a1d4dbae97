// Catching a bug: the swarm is let loose on it until its checker sees it.
//   C1. A seed counts only if the same seed finds nothing in the code without the bug.
//   C2. Where to look first is remembered in first-seeds.json, and that seed is run for real; if it
//       sees nothing any more, because the simulator has changed, the search goes on from the
//       first seed, within the same bound.

import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { Hunted } from "./hunt.ts";
import type { PlantedBug } from "./planted-bug.ts";

/** Every bug has to be caught within so many seeds. */
export const SEEDS_MAX = 2_000;
const HUNT_MS_MAX = 1_200_000;
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

/** Runs seeds against a bug, or `none`, in a process of its own. */
export async function hunt(bug: string, ...seeds: readonly string[]): Promise<Hunted> {
  const args = [HUNT, bug, ...seeds];
  const { stdout } = await promisify(execFile)(process.execPath, args, { timeout: HUNT_MS_MAX });
  return JSON.parse(stdout) as Hunted;
}

/** The first seed from `from` on at which the bug's checker sees it (C1), or null. */
export async function searchFor(bug: PlantedBug, from = 1): Promise<Caught | null> {
  for (let next = from; next <= SEEDS_MAX; ) {
    const { seen, planted } = await hunt(bug.name, `${next}..${SEEDS_MAX}`);
    if (!planted) throw new Error(`${bug.file} is no part of the world`);
    const caught = seen.at(-1);
    if (caught === undefined || !caught.checkers.includes(bug.checker)) return null;
    if (await isClean(caught.seed)) return caught;
    next = caught.seed + 1;
  }
  return null;
}

/** Looks where the bug was seen before, and else everywhere (C2). */
export async function catchBug(bug: PlantedBug): Promise<Caught | null> {
  const known = firstSeeds()[bug.name];
  if (known !== undefined) {
    const { seen } = await hunt(bug.name, String(known));
    const [caught] = seen;
    if (caught?.checkers.includes(bug.checker) && (await isClean(known))) return caught;
  }
  return searchFor(bug);
}

const clean = new Map<number, Promise<boolean>>();

/** Whether nothing is seen at a seed without any bug; asked once per seed. */
function isClean(seed: number): Promise<boolean> {
  const known = clean.get(seed) ?? hunt("none", String(seed)).then(({ seen }) => seen.length === 0);
  clean.set(seed, known);
  return known;
}
