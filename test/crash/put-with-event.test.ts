// The crash test of buckets: an object and its event are one commit, whatever the crash.
// TIDEGATE_CRASHES sets how often the server is killed.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { runPutCrashes } from "./put-with-event.ts";

const CRASHES_DEFAULT = 8;
const SEED_MAX = 1_000_000;
const MS_PER_CRASH_MAX = 15_000;

const crashes = Number(process.env.TIDEGATE_CRASHES ?? CRASHES_DEFAULT);
const seed = Number(process.env.TIDEGATE_CRASH_SEED ?? Math.floor(Math.random() * SEED_MAX));

test(`objects and their events are whole after ${crashes} kills in the middle of work`, {
  timeout: 60_000 + crashes * MS_PER_CRASH_MAX,
}, async () => {
  const folder = mkdtempSync(join(tmpdir(), "tidegate-put-crash-"));
  const result = await runPutCrashes(folder, crashes, seed);
  const told = `seed ${seed}, ${JSON.stringify(result)}`;
  console.log(`crash test of buckets: ${told}`);
  expect(result.violations, `${told}; kept: ${folder}`).toEqual([]);
  expect(result.crashes).toBe(crashes);
  for (const way of ["put", "copy", "complete", "delete"] as const) {
    expect(result.made[way], told).toBeGreaterThan(0);
  }
  rmSync(folder, { recursive: true, force: true });
});
