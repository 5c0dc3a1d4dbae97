// Crash run from the command line: node test/crash/run.ts --crashes 500 --seed 7

import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { SERVER_ARGS, type ServerKind } from "../support/crash/servers.ts";
import { runCrashes } from "./crash-run.ts";

const { values } = parseArgs({
  options: {
    crashes: { type: "string", default: "50" },
    seed: { type: "string", default: `${Date.now() % 1_000_000}` },
    dir: { type: "string", default: tmpdir() },
    server: { type: "string", default: "tidegate" },
    flaw: { type: "string", default: "" },
  },
});
const folder = mkdtempSync(join(values.dir, "tidegate-crash-"));
const seed = Number(values.seed);
console.log(`seed ${seed}, folder ${folder}`);
const serverArgs = SERVER_ARGS[values.server as ServerKind](values.flaw);
const result = await runCrashes({
  serverArgs,
  folder,
  crashes: Number(values.crashes),
  seed,
  progress: (line) => console.log(line),
});
console.log(JSON.stringify(result, null, 2));
if (result.violations.length > 0) {
  console.log(`seed ${seed}: ${result.violations.length} violations; see ${folder}`);
  process.exitCode = 1;
}
