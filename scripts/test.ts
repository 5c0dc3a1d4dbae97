// Test: runs all checks and tests (`npm test`).
//   T1. Stages run in order, cheapest first, and the first that fails ends the run.
//   T2. Arguments go to vitest: `npm test -- src/core` runs all checks, but only those tests.
//   T3. The last line is the plain count, for people and scripts.

import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { parseCLI, startVitest } from "vitest/node";
import { summarize } from "./test-summary.ts";

const root = join(import.meta.dirname, "..");

const CHECKS = [
  { title: "format and lint", command: "biome", args: ["check", "--error-on-warnings", "."] },
  { title: "types", command: "tsc", args: ["--noEmit"] },
  { title: "types of the console's page", command: "tsc", args: ["-p", "src/console/app"] },
];

for (const { title, command, args } of CHECKS) {
  const elapsed = heading(title);
  const bin = join(root, "node_modules", ".bin", command);
  const { status, error } = spawnSync(bin, args, { cwd: root, stdio: "inherit" });
  if (error !== undefined) console.error(error.message);
  if (status !== 0) {
    console.error(`${title}: failed after ${elapsed()}`);
    process.exit(1); // T1
  }
  console.log(`${title}: passed, ${elapsed()}`);
}
await runTests(process.argv.slice(2));

async function runTests(args: readonly string[]): Promise<void> {
  const elapsed = heading("tidy and tests");
  const { filter, options } = parseCLI(["vitest", "run", ...args]); // T2
  const vitest = await startVitest("test", filter, { ...options, root, watch: false });
  const summary = summarize(
    vitest.state.getTestModules(),
    vitest.state.getUnhandledErrors().length,
  );
  await vitest.close();
  if (summary.failed > 0 || summary.passed === 0) process.exitCode = 1;
  console.log(`tidy and tests: ${process.exitCode ? "failed" : "passed"}, ${elapsed()}`);
  console.log("\nthe longest files, with their waiting:");
  for (const line of summary.longLines) console.log(line);
  for (const line of summary.skipLines) console.log(line);
  console.log(`${summary.passed} passed, ${summary.failed} failed, ${summary.skipped} skipped`); // T3
}

function heading(title: string): () => string {
  const startedMs = performance.now();
  console.log(`\n== ${title}`);
  return () => `${((performance.now() - startedMs) / 1_000).toFixed(1)} s`;
}
