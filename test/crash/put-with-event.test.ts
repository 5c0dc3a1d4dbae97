// The crash test of buckets: an object and its event are one commit, even if the server crashes.
// TIDEGATE_CRASHES sets the number of kills.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { patienceMs } from "../support/patience.ts";
import { runPutCrashes } from "./put-with-event.ts";

const CRASHES_DEFAULT = 8;
const SEED_MAX = 1_000_000;
const MS_PER_CRASH_MAX = 15_000;

const crashes = Number(process.env.TIDEGATE_CRASHES ?? CRASHES_DEFAULT);
const seed = Number(process.env.TIDEGATE_CRASH_SEED ?? Math.floor(Math.random() * SEED_MAX));

test(`objects and their events are consistent after ${crashes} kills under load`, {
  timeout: patienceMs(60_000 + crashes * MS_PER_CRASH_MAX),
}, async () => {
  const folder = mkdtempSync(join(tmpdir(), "tidegate-put-crash-"));
  const result = await runPutCrashes(folder, crashes, seed);
  const summary = `seed ${seed}, ${JSON.stringify(result)}`;
  console.log(`crash test of buckets: ${summary}`);
  expect(result.violations, `${summary}; folder: ${folder}`).toEqual([]);
  expect(result.crashes).toBe(crashes);
  for (const way of ["put", "copy", "complete", "delete"] as const) {
    expect(result.made[way], summary).toBeGreaterThan(0);
  }
  rmSync(folder, { recursive: true, force: true });
});
