// Check: what a change needs before a commit, in about a minute (`npm run check`): format, lint,
// types, the rules of the repository, and all unit tests of `src` but the slowest.
//   Q1. The parts run at the same time. Each prints its output when it ends, and one line.
//   Q2. One failed part fails the command.

import { spawn } from "node:child_process";
import { join } from "node:path";

const root = join(import.meta.dirname, "..");

/** The slowest unit tests, with more than a third of the time of all; `npm test` runs them. */
const SLOW = [
  "src/sim/mistakes/mistakes.test.ts",
  "src/sim/run-seed.test.ts",
  "src/cli/sim.test.ts",
  "src/stores/sqlite/broker/broker-store.test.ts",
  "src/ingest/stages/late.test.ts",
  "src/ingest/dead-letters/redrive-crash.test.ts",
  "src/readers/expand.test.ts",
  "src/readers/time-slice.test.ts",
];

const PARTS: readonly (readonly [title: string, command: string, args: readonly string[]])[] = [
  ["format and lint", "biome", ["check", "--error-on-warnings", "."]],
  ["types", "tsc", ["--noEmit"]],
  ["types of the console's page", "tsc", ["-p", "src/console/app"]],
  [
    "tidy and unit tests",
    "vitest",
    ["run", "--project", "together", "--reporter", "dot", "src/", "test/tidy.test.ts"].concat(
      SLOW.flatMap((path) => ["--exclude", path]),
    ),
  ],
];

async function run([title, command, args]: (typeof PARTS)[number]): Promise<boolean> {
  const startedMs = performance.now();
  const child = spawn(join(root, "node_modules", ".bin", command), args, { cwd: root });
  const output: Buffer[] = [];
  child.stdout.on("data", (chunk: Buffer) => output.push(chunk));
  child.stderr.on("data", (chunk: Buffer) => output.push(chunk));
  const code = await new Promise((resolve) => {
    child.on("error", resolve);
    child.on("close", resolve);
  });
  const seconds = ((performance.now() - startedMs) / 1_000).toFixed(1);
  if (code !== 0) process.stdout.write(Buffer.concat(output));
  console.log(`${code === 0 ? "passed" : "FAILED"}  ${title}, ${seconds} s`); // Q1
  return code === 0;
}

const passed = await Promise.all(PARTS.map(run));
process.exitCode = passed.every(Boolean) ? 0 : 1; // Q2
