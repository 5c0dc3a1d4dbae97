// Measures the start of a function: how long a fresh process takes to load the package, to answer
// its first batch of ten messages, and to answer a warm one. Usage:
//   npm run build && npm run bench:lambda [-- --runs 10]
// Queue and ledger are on this machine: figures contain no network, and no start of Lambda itself.

import { execFile } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs, promisify } from "node:util";
import { startDynamoLocal } from "../scripts/dynamodb-local.ts";
import { startCloud } from "../src/cloud/start-cloud.ts";
import { startPostgres } from "../test/support/stores/postgres-server.ts";

interface Figures {
  readonly load: number;
  readonly first: number;
  readonly warm: number;
  readonly rssMib: number;
}

const { values: flags } = parseArgs({ options: { runs: { type: "string", default: "10" } } });
const root = join(import.meta.dirname, "..");
const FUNCTION = fileURLToPath(new URL("./lambda/function.mjs", import.meta.url));
if (!existsSync(join(root, "dist", "api", "lambda.js")))
  throw new Error("run `npm run build` first");

const folder = mkdtempSync(join(tmpdir(), "tidegate-bench-"));
const deadLetter = { queue: "bench-dead", maxReceiveCount: 25 };
const queues = [{ name: "bench-dead" }, { name: "bench", deadLetter }];
const cloud = await startCloud({ memory: true, setup: { queues } });

async function measure(name: string, ledger: string): Promise<void> {
  const env = {
    ...process.env,
    ENDPOINT: cloud.endpoint,
    LEDGER: ledger,
    ARN: "arn:aws:sqs:us-east-1:000000000000:bench",
    AWS_REGION: "us-east-1",
  };
  const all: Figures[] = [];
  for (let run = 0; run <= Number(flags.runs); run += 1) {
    const { stdout } = await promisify(execFile)(process.execPath, [FUNCTION], { env });
    if (run > 0) all.push(JSON.parse(stdout)); // The first run creates tables.
  }
  const median = (of: (each: Figures) => number) => {
    const sorted = all.map(of).toSorted((a, b) => a - b);
    return Math.round(sorted[Math.floor(sorted.length / 2)] ?? 0);
  };
  const parts = [
    `load ${median(({ load }) => load)} ms`,
    `first batch ${median(({ first }) => first)} ms`,
    `warm batch ${median(({ warm }) => warm)} ms`,
    `memory ${median(({ rssMib }) => rssMib)} MiB`,
  ];
  console.log(`${name}: ${parts.join(", ")}`);
}

const postgres = await startPostgres({ fsync: "off" });
const dynamo = await startDynamoLocal();
try {
  if ("endpoint" in dynamo) {
    const at = `dynamodb://bench?region=eu-west-1&endpoint=${dynamo.endpoint}`;
    await measure("DynamoDB", at);
  }
  if ("url" in postgres) await measure("PostgreSQL", postgres.url);
  await measure("SQLite", `sqlite:${join(folder, "ledger.db")}`);
} finally {
  if ("stop" in dynamo) await dynamo.stop();
  if ("stop" in postgres) await postgres.stop();
  await cloud.close();
  rmSync(folder, { recursive: true, force: true });
}
