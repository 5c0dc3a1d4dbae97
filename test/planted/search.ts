// Search: finds the first seed that sees each planted bug, and writes them down for the tests.
//   node test/planted/search.ts [bug]...

import { writeFileSync } from "node:fs";
import { firstSeeds, searchFor } from "./catch-bug.ts";
import { PLANTED_BUGS } from "./planted-bugs.ts";

const wanted = process.argv.slice(2);
for (const bug of PLANTED_BUGS) {
  if (wanted.length > 0 && !wanted.includes(bug.name)) continue;
  const caught = await searchFor(bug);
  if (caught !== null) remember(bug.name, caught.seed);
  const told = caught === null ? "not seen" : `seed ${caught.seed}: ${caught.first}`;
  process.stdout.write(`${bug.name} (${bug.checker}): ${told}\n`);
}

/** At once: a search may take long, and others may run beside it. */
function remember(name: string, seed: number): void {
  const text = JSON.stringify({ ...firstSeeds(), [name]: seed }, null, 2);
  writeFileSync(new URL("first-seeds.json", import.meta.url), `${text}\n`);
}
