// The crash test of topics: a publish and all of its copies are atomic, even if the server crashes.
// TIDEGATE_CRASHES sets the number of kills, TIDEGATE_CRASH_SEED what is published.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { SERVER_ARGS } from "../support/crash/servers.ts";
import { patienceMs } from "../support/patience.ts";
import { runFanOut } from "./fan-out-run.ts";

const CRASHES_DEFAULT = 6;
const MS_PER_CRASH_MAX = 15_000;

const crashes = Number(process.env.TIDEGATE_CRASHES ?? CRASHES_DEFAULT);
const seed = Number(process.env.TIDEGATE_CRASH_SEED ?? Math.floor(Math.random() * 1_000_000));

test(`no publish is partially delivered after ${crashes} kills during fan-outs`, {
  timeout: patienceMs(60_000 + crashes * MS_PER_CRASH_MAX),
}, async () => {
  const folder = mkdtempSync(join(tmpdir(), "tidegate-fan-out-"));
  const result = await runFanOut({ serverArgs: SERVER_ARGS.tidegate(), folder, crashes, seed });
  const { violations, ...counts } = result;
  const summary = `seed ${seed}, ${JSON.stringify(counts)}`;
  console.log(`fan-out crash test: ${summary}`);
  expect(violations, `${summary}; folder: ${folder}`).toEqual([]);
  expect(counts.acknowledged, summary).toBeGreaterThan(0);
  expect(counts.unanswered, summary).toBeGreaterThan(0);
  rmSync(folder, { recursive: true, force: true });
});
