// The ingest benchmark: Tidegate's consumer with its ledger beside sqs-consumer without one, on the
// same durable broker, in one run. See bench/README.md for what the figures mean.
//   I1. Whatever happens, no process and no data folder remains.
//   I2. A missed target is reported, and fails the run only with --strict; a wrong outcome (a
//       message that was handled twice or not at all) always does.

import { mkdirSync, statfsSync } from "node:fs";
import { join } from "node:path";
import { freshFolder, removeFolder } from "./broker/servers.ts";
import { runDynamo } from "./ingest/dynamodb.ts";
import { runHttp } from "./ingest/http.ts";
import { runInProcess } from "./ingest/in-process.ts";
import { runMemory } from "./ingest/memory.ts";
import { type IngestOptions, type Part, readOptions, USAGE } from "./ingest/options.ts";
import { renderIngest } from "./ingest/report.ts";
import { type IngestResults, judgeIngest } from "./ingest/targets.ts";

const TMPFS = 0x01021994;
const progress = (line: string): void => console.error(line);

async function run(options: IngestOptions): Promise<IngestResults> {
  const results: IngestResults = {};
  const folder = freshFolder(options.dir);
  process.once("exit", () => removeFolder(folder)); // I1
  for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => process.exit(1));
  const has = (part: Part): boolean => options.parts.includes(part);
  const folderOf = (part: Part): string => {
    const made = join(folder, part);
    mkdirSync(made);
    return made;
  };
  try {
    if (has("http")) results.http = await runHttp(options, folderOf("http"), progress);
    if (has("in-process")) {
      results.inProcess = await runInProcess(options, folderOf("in-process"), progress);
    }
    if (has("dynamodb")) results.dynamodb = await runDynamo(options, folderOf("dynamodb"));
    if (has("million")) results.memory = await runMemory(options, folderOf("million"), progress);
    return results;
  } finally {
    removeFolder(folder); // I1
  }
}

async function main(): Promise<number> {
  const options = readOptions(process.argv.slice(2));
  if (options === "help") {
    console.log(USAGE);
    return 0;
  }
  if (statfsSync(options.dir).type === TMPFS) {
    progress(
      `warning: ${options.dir} is in memory, where fsync costs nothing; choose another --dir`,
    );
  }
  const results = await run(options);
  const verdicts = judgeIngest(results);
  const durability = "synchronous=FULL";
  if (options.json)
    console.log(JSON.stringify({ options, durability, results, verdicts }, null, 2));
  else console.log(renderIngest(results));
  if (options.quick) progress("quick: this run is too short for meaningful figures");
  return options.strict && verdicts.some(({ verdict }) => verdict !== "met") ? 1 : 0; // I2
}

process.exitCode = await main();
