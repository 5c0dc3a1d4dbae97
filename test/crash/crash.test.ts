// The crash test: our server, killed in the middle of its work, keeps what it told.
// TIDEGATE_CRASHES sets how often it is killed, TIDEGATE_CRASH_SEED what the clients choose.

import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { SERVER_ARGS } from "../support/crash/servers.ts";
import { runCrashes } from "./crash-run.ts";

const CRASHES_DEFAULT = 8;
const SEED_MAX = 1_000_000;
const MS_PER_CRASH_MAX = 15_000;

const WORK = ["sent", "received", "deleted", "changed", "duplicates", "probed", "delayed"];
const RARE_WORK = [
  ...["sent in batches", "deleted in batches", "purged", "configured", "move tasks"],
  "move tasks that a crash interrupted",
];
/** From here on even what is rare has surely happened. */
const CRASHES_FOR_ALL = 30;

const crashes = Number(process.env.TIDEGATE_CRASHES ?? CRASHES_DEFAULT);
const seed = Number(process.env.TIDEGATE_CRASH_SEED ?? Math.floor(Math.random() * SEED_MAX));

test(`what was acknowledged survives ${crashes} kills in the middle of work`, {
  timeout: 60_000 + crashes * MS_PER_CRASH_MAX,
}, async () => {
  const folder = mkdtempSync(join(tmpdir(), "tidegate-crash-"));
  const serverArgs = SERVER_ARGS.tidegate();
  const result = await runCrashes({ serverArgs, folder, crashes, seed });
  const told = `seed ${seed}, ${result.crashes} crashes, ${JSON.stringify(result.counts)}`;
  console.log(`crash test: ${told}`);
  expect(result.violations, `${told}; kept: ${folder}`).toEqual([]);
  expect(result.crashes).toBe(crashes);
  for (const work of [...WORK, ...(crashes < CRASHES_FOR_ALL ? [] : RARE_WORK)]) {
    expect(result.counts[work], `no work of the kind "${work}": ${told}`).toBeGreaterThan(0);
  }
});
