// Tables hunt: runs seeds of the tables world against one planted bug, in its own process.
//   node test/planted/tables-hunt.ts <bug> <first seed> <last seed>
// Prints the first violation of the bug's checker as JSON, or null.

import { plant } from "./planted-bug.ts";
import { TABLES_BUGS } from "./tables-bugs.ts";

const [name, first, last] = process.argv.slice(2);
const bug = TABLES_BUGS.find((each) => each.name === name);
if (bug === undefined) throw new Error(`unknown planted bug "${name}"`);

async function hunt(wanted: string): Promise<{ seed: number; violation: string } | null> {
  const { runTablesSeed } = await import("./tables-world.ts");
  for (let seed = Number(first); seed <= Number(last); seed += 1) {
    const violations = await runTablesSeed(seed);
    const violation = violations.find((each) => each.startsWith(`${wanted}:`));
    if (violation !== undefined) return { seed, violation };
  }
  return null;
}

const { planted } = plant(bug);
const caught = await hunt(bug.checker);
if (!planted()) throw new Error(`${bug.file} is not loaded by the tables world`);
process.stdout.write(`${JSON.stringify(caught)}\n`);
process.exit(0); // A broken world may leave promises that never resolve.
