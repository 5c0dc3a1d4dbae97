// The crash test: our server, killed in the middle of its work, keeps what it told.
// TIDEGATE_CRASHES sets how often it is killed, TIDEGATE_CRASH_SEED what the clients choose.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { type CrashRunResult, runCrashes } from "./crash-run.ts";
import { SERVER_ARGS } from "./servers.ts";

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

const freshFolder = (): string => mkdtempSync(join(tmpdir(), "tidegate-crash-"));

test(`what was acknowledged survives ${crashes} kills in the middle of work`, {
  timeout: 60_000 + crashes * MS_PER_CRASH_MAX,
}, async () => {
  const folder = freshFolder();
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

/** Runs the stand-in with a flaw until it is caught, or CAUGHT_CRASHES_MAX crashes are over. */
async function runStandIn(flaw: string, crashesMax: number): Promise<CrashRunResult> {
  const folder = freshFolder();
  const serverArgs = SERVER_ARGS["stand-in"](flaw);
  try {
    return await runCrashes({ serverArgs, folder, crashes: crashesMax, seed: 3 });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

test("an honest server passes", async () => {
  const result = await runStandIn("", 4);
  expect(result.violations).toEqual([]);
  expect(result.counts.drained).toBeGreaterThan(0);
});

const CAUGHT_CRASHES_MAX = 25;

test.each([
  ["answers before it commits", "late-commit", /lost|came back|went back|visible/],
  ["forgets its deduplication window", "forget-dedup", /a duplicate inside the window/],
  ["starts its sequence numbers again", "reset-sequence", /which was told before the restart/],
  ["forgets receive counts", "forget-receives", /receive count went back/],
  ["forgets deadlines", "forget-receives", /before its visibility ended/],
  ["mixes the order of a group", "shuffle", /delivered before .* of its group/],
  ["forgets its tags", "lose-setting", /tag purpose is undefined/],
  ["moves dead letters in two commits", "split-move", /acknowledged and is lost/],
  ["forgets its move tasks", "forget-task", /a move task was acknowledged and is lost/],
  ["lets a move task work in two commits", "copy-move", /is held 2 times/],
  ["purges by halves", "half-purge", /came back to purged-\d after its delete/],
])("a server that %s is caught", { timeout: 120_000 }, async (_what, flaw, expected) => {
  const { violations } = await runStandIn(flaw, CAUGHT_CRASHES_MAX);
  expect(violations.join("\n")).toMatch(expected);
});
