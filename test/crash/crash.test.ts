// The crash test: the server, killed under load, keeps everything it acknowledged.
// TIDEGATE_CRASHES sets the number of kills, TIDEGATE_CRASH_SEED the choices of the clients.

import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { SERVER_ARGS } from "../support/crash/servers.ts";
import { patienceMs } from "../support/patience.ts";
import { runCrashes } from "./crash-run.ts";

const CRASHES_DEFAULT = 8;
const SEED_MAX = 1_000_000;
const MS_PER_CRASH_MAX = 15_000;

const WORK = ["sent", "received", "deleted", "changed", "duplicates", "probed", "delayed"];
const RARE_WORK = [
  ...["sent in batches", "deleted in batches", "purged", "configured", "move tasks"],
  "move tasks interrupted by a crash",
];
/** With this many crashes, even rare work happens. */
const CRASHES_FOR_ALL = 30;

const crashes = Number(process.env.TIDEGATE_CRASHES ?? CRASHES_DEFAULT);
const seed = Number(process.env.TIDEGATE_CRASH_SEED ?? Math.floor(Math.random() * SEED_MAX));

test(`acknowledged work survives ${crashes} kills under load`, {
  timeout: patienceMs(60_000 + crashes * MS_PER_CRASH_MAX),
}, async () => {
  const folder = mkdtempSync(join(tmpdir(), "tidegate-crash-"));
  const serverArgs = SERVER_ARGS.tidegate();
  const result = await runCrashes({ serverArgs, folder, crashes, seed });
  const summary = `seed ${seed}, ${result.crashes} crashes, ${JSON.stringify(result.counts)}`;
  console.log(`crash test: ${summary}`);
  expect(result.violations, `${summary}; folder: ${folder}`).toEqual([]);
  expect(result.crashes).toBe(crashes);
  for (const work of [...WORK, ...(crashes < CRASHES_FOR_ALL ? [] : RARE_WORK)]) {
    expect(result.counts[work], `no work of the kind "${work}": ${summary}`).toBeGreaterThan(0);
  }
});
