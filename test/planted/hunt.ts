// Hunt: runs seeds of the swarm against one planted bug, or against none, in a process of its own.
//   node test/planted/hunt.ts <bug | none> <seed>...     runs those seeds
//   node test/planted/hunt.ts <bug> 1..2000              stops at the first that its checker sees
// Tells what it saw as one line of JSON.

import { plant } from "./planted-bug.ts";
import { PLANTED_BUGS } from "./planted-bugs.ts";

export interface Hunted {
  /** Whether the file with the mistake was loaded at all. */
  readonly planted: boolean;
  readonly ran: number;
  readonly seen: readonly {
    readonly seed: number;
    readonly checkers: readonly string[];
    readonly first: string;
  }[];
}

const [name = "", ...given] = process.argv.slice(2);
const bug = PLANTED_BUGS.find((each) => each.name === name);
if (bug === undefined && name !== "none") throw new Error(`there is no bug called ${name}`);

function* seedsOf(texts: readonly string[]): Generator<number> {
  for (const text of texts) {
    const [from = 0, to = from] = text.split("..").map(Number);
    for (let seed = from; seed <= to; seed += 1) yield seed;
  }
}

async function hunt(): Promise<Hunted> {
  const planting = bug === undefined ? { planted: () => false } : plant(bug);
  const { runSeed } = await import("../../src/sim/run-seed.ts");
  const drain = () => new Promise<void>((resolve) => setImmediate(resolve));
  const seen: Hunted["seen"][number][] = [];
  let ran = 0;
  for (const seed of seedsOf(given)) {
    const { violations } = await runSeed(seed, { drain });
    ran += 1;
    if (violations.length === 0) continue;
    const checkers = [...new Set(violations.map(({ checker }) => checker))];
    const first = violations.find(({ checker }) => checker === bug?.checker) ?? violations[0];
    seen.push({ seed, checkers, first: first?.message ?? "" });
    if (bug !== undefined && checkers.includes(bug.checker)) break;
  }
  return { planted: planting.planted(), ran, seen };
}

process.stdout.write(`${JSON.stringify(await hunt())}\n`);
process.exit(0); // A broken world may have left promises behind that nobody answers.
