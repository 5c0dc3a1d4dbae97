// Tests the crash test itself: it catches a server that forgets or mixes up acknowledged state.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { SERVER_ARGS } from "../support/crash/servers.ts";
import { sampleOf } from "../support/full-size.ts";
import { type CrashRunResult, runCrashes } from "./crash-run.ts";

/** Runs the stand-in with a flaw until it is caught, or `crashesMax` crashes are over. */
async function runStandIn(flaw: string, crashesMax: number, seed = 3): Promise<CrashRunResult> {
  const folder = mkdtempSync(join(tmpdir(), "tidegate-flaw-"));
  const serverArgs = SERVER_ARGS["stand-in"](flaw);
  try {
    return await runCrashes({ serverArgs, folder, crashes: crashesMax, seed });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

test("a correct server passes", async () => {
  const result = await runStandIn("", 4);
  expect(result.violations).toEqual([]);
  expect(result.counts.drained).toBeGreaterThan(0);
});

const CAUGHT_CRASHES_MAX = 25;
/** A run ends at its first violation, which may be another symptom of the same flaw. */
const SEEDS = [3, 4, 5, 6];

const FLAWS = [
  ["answers before it commits", "late-commit", /lost|came back|decreased|visible/],
  ["forgets its deduplication window", "forget-dedup", /a duplicate inside the window/],
  ["restarts its sequence numbers", "reset-sequence", /which was assigned before the restart/],
  ["forgets receive counts", "forget-receives", /receive count decreased/],
  ["forgets deadlines", "forget-receives", /before its visibility ended/],
  ["mixes up the order of a group", "shuffle", /delivered before .* of its group/],
  ["forgets its tags", "lose-setting", /tag purpose is undefined/],
  ["moves dead letters in two commits", "split-move", /acknowledged and is lost/],
  ["forgets its move tasks", "forget-task", /a move task was acknowledged and is lost/],
  ["runs a move task in two commits", "copy-move", /is there 2 times/],
  ["purges in two commits", "half-purge", /came back to purged-\d after its delete/],
] as const;

test.each(sampleOf(3, FLAWS))("a server that %s is caught", async (_what, flaw, expected) => {
  const symptoms: string[] = [];
  for (const seed of SEEDS) {
    const { violations } = await runStandIn(flaw, CAUGHT_CRASHES_MAX, seed);
    expect(violations).not.toEqual([]);
    symptoms.push(...violations);
    if (expected.test(symptoms.join("\n"))) break;
  }
  expect(symptoms.join("\n")).toMatch(expected);
});
