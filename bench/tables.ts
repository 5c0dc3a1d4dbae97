// Measures the table sink: large records against a bare load of the same rows, and reads against a
// plain table. Usage:
//   npm run bench:tables [-- --rows 1000000] [--only sqlite|postgres] [--shuffled] [--check]
// --shuffled puts the keys in random order. --check exits with an error if a target is missed.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { startPostgres } from "../test/support/stores/postgres-server.ts";
import { measureLoad, measureReads, type TableBench } from "./tables/measure.ts";
import { openPostgresBench } from "./tables/postgres.ts";
import { openSqliteBench } from "./tables/sqlite.ts";

const { values: flags } = parseArgs({
  options: {
    rows: { type: "string", default: "1000000" },
    only: { type: "string" },
    shuffled: { type: "boolean", default: false },
    check: { type: "boolean", default: false },
  },
});
const ROWS = Number(flags.rows);
const LOAD_RATIO_MIN = 0.4;
const READ_RATIO_MAX = 1.1;

let missed = 0;

function judge(what: string, value: number, met: boolean, target: string): void {
  if (!met) missed += 1;
  console.log(`  ${what}: ${value.toFixed(2)} (${target}: ${met ? "met" : "missed"})`);
}

async function measure(bench: TableBench): Promise<void> {
  const load = await measureLoad(bench, ROWS, flags.shuffled);
  const perSecond = (ms: number) =>
    `${Math.round((ROWS / ms) * 1_000).toLocaleString("en")} rows/s`;
  console.log(`${bench.name}, ${ROWS.toLocaleString("en")} rows`);
  console.log(`  ${bench.bareName}: ${perSecond(load.bareMs)}`);
  console.log(`  staged and merged: ${perSecond(load.stageMs + load.mergeMs)}`);
  console.log(`  of which the merge, one transaction: ${Math.round(load.mergeMs)} ms`);
  console.log(`  peak memory above the start: ${Math.round(load.peakBytes / 2 ** 20)} MiB`);
  const ratio = load.bareMs / (load.stageMs + load.mergeMs);
  judge("rate against it", ratio, ratio >= LOAD_RATIO_MIN, `at least ${LOAD_RATIO_MIN}`);
  const reads = await measureReads(bench);
  judge(
    "time of a sum against a plain table",
    reads,
    reads <= READ_RATIO_MAX,
    `at most ${READ_RATIO_MAX}`,
  );
}

const folder = mkdtempSync(join(tmpdir(), "tidegate-bench-"));
try {
  if (flags.only !== "postgres") {
    const bench = await openSqliteBench(folder);
    await measure(bench);
    await bench.close();
  }
  if (flags.only !== "sqlite") {
    const server = await startPostgres({});
    if ("missing" in server) console.log(`PostgreSQL is not measured: ${server.missing}`);
    else {
      const bench = await openPostgresBench(server.url);
      await measure(bench);
      await bench.close();
      await server.stop();
    }
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
if (flags.check && missed > 0) process.exitCode = 1;
