// Explain mistake: finds a run in which a mistake does harm, shortens it, and runs the same world
// without the mistake.
//   E1. Both worlds have the same seed, records and faults; only the setting differs.
//   E2. A mistake without a harmful run among the first seeds is a defect of its table row.

import { runSeed, type SeedReport } from "../run-seed.ts";
import type { Drain } from "../scheduler.ts";
import { shrinkSeed } from "../shrink.ts";
import { WITHOUT_WORLD } from "./delivery-mistakes.ts";
import { mistakeStory } from "./mistake-story.ts";
import { MISTAKES, optionsOf } from "./mistakes.ts";
import type { Mistake } from "./small-world.ts";

const SEEDS_MAX = 60;

export interface ExplainedMistake {
  /** The shortest run that breaks the promise. */
  readonly broken: SeedReport;
  /** The same world without the mistake (E1). */
  readonly fixed: SeedReport;
}

/** Why a rule exists: the run that shows it, or the reason why no run can. */
export type RuleStory =
  | { readonly kind: "run"; readonly lines: readonly string[] }
  | { readonly kind: "no run"; readonly reason: string | undefined }
  | { readonly kind: "harmless" };

/** The shortest run in which the mistake of a rule does harm. */
export async function storyOfRule(name: string, drain: Drain): Promise<RuleStory> {
  const mistake = MISTAKES.find(({ rule }) => rule === name);
  if (mistake === undefined) return { kind: "no run", reason: WITHOUT_WORLD[name] };
  const explained = await explainMistake(mistake, drain);
  if (explained === null) return { kind: "harmless" }; // E2
  return { kind: "run", lines: mistakeStory(mistake, explained) };
}

export async function explainMistake(
  mistake: Mistake,
  drain: Drain,
): Promise<ExplainedMistake | null> {
  const options = { ...optionsOf(mistake, mistake.broken), drain };
  for (let seed = 1; seed <= SEEDS_MAX; seed += 1) {
    const only = await chosenFaults(mistake, seed, drain);
    const limits = only === undefined ? {} : { only };
    const report = await runSeed(seed, { ...options, ...limits });
    if (report.violations.length === 0) continue;
    const { report: broken } = await shrinkSeed(report, { ...options, ...limits });
    const names = new Set(broken.events.flatMap((event) => ("name" in event ? [event.name] : [])));
    const all = Array.from({ length: broken.topology.events }, (_, at) => `e${at + 1}`);
    const fixed = await runSeed(seed, {
      ...optionsOf(mistake, mistake.fixed),
      drain,
      skipped: new Set(all.filter((name) => !names.has(name))),
      only: new Set(broken.fired.map(({ id }) => id)),
    });
    return { broken, fixed };
  }
  return null; // E2
}

/** The faults of a seed that the mistake allows (M2 of mistakes.ts); undefined for all. */
async function chosenFaults(
  mistake: Mistake,
  seed: number,
  drain: Drain,
): Promise<ReadonlySet<string> | undefined> {
  const { faults } = mistake;
  if (faults === undefined) return undefined;
  const { fired } = await runSeed(seed, { ...optionsOf(mistake, mistake.broken), drain });
  return new Set(fired.flatMap(({ id }) => (faults.test(id) ? [id] : [])));
}
