// Shadow hunt: runs seeds of the shadow world against one planted bug, in its own process.
//   node test/planted/shadow-hunt.ts <bug> <first seed> <last seed>
// Prints the first violation of the bug's checker as JSON, or null.

import { plant } from "./planted-bug.ts";
import { SHADOW_BUGS } from "./shadow-bugs.ts";

const [name, first, last] = process.argv.slice(2);
const bug = SHADOW_BUGS.find((each) => each.name === name);
if (bug === undefined) throw new Error(`unknown planted bug "${name}"`);

async function hunt(wanted: string): Promise<{ seed: number; violation: string } | null> {
  const { runShadowSeed } = await import("./shadow-world.ts");
  for (let seed = Number(first); seed <= Number(last); seed += 1) {
    const violations = await runShadowSeed(seed);
    const violation = violations.find((each) => each.startsWith(`${wanted}:`));
    if (violation !== undefined) return { seed, violation };
  }
  return null;
}

const { planted } = plant(bug);
const caught = await hunt(bug.checker);
if (!planted()) throw new Error(`${bug.file} is not loaded by the shadow world`);
process.stdout.write(`${JSON.stringify(caught)}\n`);
process.exit(0); // A broken world may leave promises that never resolve.
