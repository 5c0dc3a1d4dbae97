// Hunt: runs swarm seeds against one planted bug, or against none, in its own process.
//   node test/planted/hunt.ts <bug | none> <seed>...     runs those seeds
//   node test/planted/hunt.ts <bug> 1..2000              stops at the first seed that catches it
// Prints the result as one line of JSON.

import { MASK_BUGS } from "./mask-bugs.ts";
import { plant } from "./planted-bug.ts";
import { PLANTED_BUGS } from "./planted-bugs.ts";
import { TABLE_BUGS } from "./table-bugs.ts";

export interface HuntResult {
  /** Whether the file with the mistake was loaded. */
  readonly planted: boolean;
  readonly ran: number;
  readonly catches: readonly {
    readonly seed: number;
    readonly checkers: readonly string[];
    readonly first: string;
  }[];
}

const [name = "", ...seedTexts] = process.argv.slice(2);
const bug = [...PLANTED_BUGS, ...MASK_BUGS, ...TABLE_BUGS].find((each) => each.name === name);
if (bug === undefined && name !== "none") throw new Error(`unknown planted bug "${name}"`);

function* seedsOf(texts: readonly string[]): Generator<number> {
  for (const text of texts) {
    const [from = 0, to = from] = text.split("..").map(Number);
    for (let seed = from; seed <= to; seed += 1) yield seed;
  }
}

async function hunt(): Promise<HuntResult> {
  const planting = bug === undefined ? { planted: () => false } : plant(bug);
  const { runSeed } = await import("../../src/sim/run-seed.ts");
  const { drawSwarm } = await import("../../src/sim/swarm.ts");
  const drain = () => new Promise<void>((resolve) => setImmediate(resolve));
  const catches: HuntResult["catches"][number][] = [];
  let ran = 0;
  for (const seed of seedsOf(seedTexts)) {
    const { tables, archive = false } = drawSwarm(seed).topology;
    if (bug?.world === "tables" && tables === undefined) continue;
    if (bug?.world === "archive" && !archive) continue;
    const { violations } = await runSeed(seed, { drain });
    ran += 1;
    if (violations.length === 0) continue;
    const checkers = [...new Set(violations.map(({ checker }) => checker))];
    const first = violations.find(({ checker }) => checker === bug?.checker) ?? violations[0];
    catches.push({ seed, checkers, first: first?.message ?? "" });
    if (bug !== undefined && checkers.includes(bug.checker)) break;
  }
  return { planted: planting.planted(), ran, catches };
}

process.stdout.write(`${JSON.stringify(await hunt())}\n`);
process.exit(0); // A broken world may leave promises that never resolve.
