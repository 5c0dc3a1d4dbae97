// The crash test on trial: a server that forgets or mixes up what it told is caught by it.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { SERVER_ARGS } from "../support/crash/servers.ts";
import { type CrashRunResult, runCrashes } from "./crash-run.ts";

/** Runs the stand-in with a flaw until it is caught, or CAUGHT_CRASHES_MAX crashes are over. */
async function runStandIn(flaw: string, crashesMax: number): Promise<CrashRunResult> {
  const folder = mkdtempSync(join(tmpdir(), "tidegate-flaw-"));
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
