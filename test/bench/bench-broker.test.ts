// Runs the broker benchmark from end to end with small counts, without judging its figures.

import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { needsFullSize } from "../support/full-size.ts";

const bench = join(import.meta.dirname, "..", "..", "bench", "broker.ts");

test("a quick run measures every row of Tidegate's server", async (context) => {
  needsFullSize(context);
  const only = ["throughput", "million", "dedup", "startup", "floor", "ours"];
  const flags = only.flatMap((name) => ["--only", name]);
  const { stdout } = await promisify(execFile)(process.execPath, [
    bench,
    "--quick",
    "--json",
    ...flags,
  ]);
  const { results } = JSON.parse(stdout);
  expect(Object.keys(results.throughput.ours)).toEqual([
    "send",
    "batch",
    "cycle",
    "fifo send",
    "fifo cycle",
    "publish",
  ]);
  expect(results.million.ours.big.medianMs).toBeGreaterThan(0);
  expect(results.dedup.ours.heldBytes).toBeTypeOf("number");
  expect(results.fullStartup.afterCrash.readyMs).toBeGreaterThan(0);
});
