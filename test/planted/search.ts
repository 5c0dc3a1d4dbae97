// Search: finds the first seed that catches each planted bug, and stores the seeds for the tests.
//   node test/planted/search.ts [bug]...

import { writeFileSync } from "node:fs";
import { firstSeeds, searchFor } from "./catch-bug.ts";
import { MASK_BUGS } from "./mask-bugs.ts";
import { PLANTED_BUGS } from "./planted-bugs.ts";
import { TABLE_BUGS } from "./table-bugs.ts";

const requested = process.argv.slice(2);
for (const bug of [...PLANTED_BUGS, ...MASK_BUGS, ...TABLE_BUGS]) {
  if (requested.length > 0 && !requested.includes(bug.name)) continue;
  const caught = await searchFor(bug);
  if (caught !== null) storeSeed(bug.name, caught.seed);
  const result = caught === null ? "not caught" : `seed ${caught.seed}: ${caught.first}`;
  process.stdout.write(`${bug.name} (${bug.checker}): ${result}\n`);
}

/** Immediately, because a search may take long and others may run at the same time. */
function storeSeed(name: string, seed: number): void {
  const text = JSON.stringify({ ...firstSeeds(), [name]: seed }, null, 2);
  writeFileSync(new URL("first-seeds.json", import.meta.url), `${text}\n`);
}
