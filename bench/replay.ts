// Measures backfill and replay against live ingestion of the same objects, in one run. Usage:
//   npm run bench:replay [-- --objects 20000] [--rounds 3] [--dir PATH] [--check]
// The embedded cloud runs durably in a process of its own; live pipeline, backfill and replay use
// it over HTTP, one after another, each with a durable SQLite ledger and the same handler, which
// reads its object and writes one row. --check exits with an error if a target is missed.
//   B1. Each round has its own bucket and ledgers. All objects are there before a clock runs.
//   B2. A clock runs until the last row is committed. Every row must be there, once.

import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { parseArgs } from "node:util";
import { S3 } from "@aws-sdk/client-s3";
import { SQS } from "@aws-sdk/client-sqs";
import { epochMs } from "../src/core/units.ts";
import { pipeline, tables } from "../src/ingest/spec/define-pipeline.ts";
import { backfill } from "../src/run/backfill/open-backfill.ts";
import { openReplays } from "../src/run/replay/open-replays.ts";
import { startPipeline } from "../src/run/start-pipeline.ts";
import { startChild } from "./broker/child-server.ts";
import { freshFolder, removeFolder, serverArgs } from "./broker/servers.ts";
import { median } from "./broker/statistics.ts";

const { values: flags } = parseArgs({
  options: {
    objects: { type: "string", default: "20000" },
    rounds: { type: "string", default: "1" },
    concurrency: { type: "string", default: "10" },
    dir: { type: "string", default: tmpdir() },
    check: { type: "boolean", default: false },
  },
});
const OBJECTS = Number(flags.objects);
const ROUNDS = Number(flags.rounds);
const PUTTERS = 48;
const REPLAY_RATIO_MIN = 0.8;
const BACKFILL_RATIO_MIN = 1;
const credentials = { accessKeyId: "any", secretAccessKey: "any" };
const LATER = epochMs(Date.now() + 86_400_000);

interface Round {
  readonly live: number;
  readonly backfill: number;
  readonly replay: number;
}

function pipelineOf(bucket: string) {
  return pipeline({
    name: bucket,
    source: { bucket, queue: `${bucket}-events` },
    concurrency: Number(flags.concurrency),
    sink: tables({ lines: { columns: { id: "text", body: "text" }, key: ["id"] } }),
    async handler(file, { upsert }) {
      upsert("lines", { id: file.object.key, body: await file.text() });
    },
  });
}

async function fill(endpoint: string, bucket: string): Promise<void> {
  const requestHandler = { httpAgent: { maxSockets: PUTTERS } };
  const common = { endpoint, region: "us-east-1", credentials, requestHandler };
  const s3 = new S3({ ...common, forcePathStyle: true });
  const sqs = new SQS(common);
  await s3.createBucket({ Bucket: bucket });
  const { QueueUrl = "" } = await sqs.createQueue({ QueueName: `${bucket}-events` });
  const names = { QueueUrl, AttributeNames: ["QueueArn" as const] };
  const { Attributes } = await sqs.getQueueAttributes(names);
  const QueueArn = String(Attributes?.QueueArn);
  const configuration = { QueueArn, Events: ["s3:ObjectCreated:*" as const] };
  await s3.putBucketNotificationConfiguration({
    Bucket: bucket,
    NotificationConfiguration: { QueueConfigurations: [configuration] },
    SkipDestinationValidation: true,
  });
  let next = 0;
  const put = async () => {
    for (let at = next++; at < OBJECTS; at = next++) {
      const Key = `in/${String(at).padStart(8, "0")}.txt`;
      await s3.putObject({ Bucket: bucket, Key, Body: `object ${at}` });
    }
  };
  await Promise.all(Array.from({ length: PUTTERS }, put));
  s3.destroy();
  sqs.destroy();
}

/** Objects per second. */
async function timed(work: () => Promise<void>): Promise<number> {
  const from = performance.now();
  await work();
  return (OBJECTS / (performance.now() - from)) * 1_000;
}

function expectRows(path: string, table = "lines"): void {
  const db = new DatabaseSync(path, { readOnly: true });
  const [row] = db.prepare(`SELECT count(*) AS rows FROM "${table}"`).all();
  db.close();
  if (row?.rows !== OBJECTS) throw new Error(`${path} has ${row?.rows} rows of ${OBJECTS}`); // B2
}

async function measure(endpoint: string, folder: string, nth: number): Promise<Round> {
  const bucket = `bench-${nth}`;
  const lines = pipelineOf(bucket);
  await fill(endpoint, bucket); // B1
  const livePath = join(folder, `live-${nth}.db`);
  const listedPath = join(folder, `listed-${nth}.db`);
  const settings = (path: string) =>
    ({ endpoint, ledger: `sqlite:${path}`, metricsPort: 0, logLevel: "error" }) as const;
  const quiet = { onLogLine: () => {}, onError: () => {} };
  const live = await timed(async () => {
    const running = await startPipeline(lines, settings(livePath), quiet);
    while ((running.snapshot().committed ?? 0) < OBJECTS) {
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    await running.stop();
  });
  expectRows(livePath);
  const listed = await timed(async () => {
    await backfill(lines, settings(listedPath), { until: LATER, onLogLine: () => {} });
  });
  expectRows(listedPath);
  const replays = await openReplays(lines, { ledger: `sqlite:${livePath}`, endpoint });
  const window = { from: epochMs(0), to: epochMs(Date.now()) };
  const request = { ...window, bucket: null, prefix: null, into: "shadow" } as const;
  let table = "";
  const replay = await timed(async () => {
    const status = await replays.start(request);
    if (status.state !== "ready") throw new Error(`the replay is ${status.state}`);
    table = status.tables.get("lines") ?? "";
  });
  await replays[Symbol.asyncDispose]();
  expectRows(livePath, table);
  return { live, backfill: listed, replay };
}

let missed = 0;

function judge(what: string, ratio: number, min: number): void {
  if (ratio < min) missed += 1;
  const verdict = ratio >= min ? "met" : "missed";
  console.log(`  ${what} against live: ${ratio.toFixed(2)} (at least ${min}: ${verdict})`);
}

const folder = freshFolder(flags.dir);
const server = await startChild({ args: serverArgs("ours", join(folder, "cloud")) });
const endpoint = `http://127.0.0.1:${server.port}`;
try {
  const rounds: Round[] = [];
  for (let nth = 0; nth < ROUNDS; nth += 1) {
    const round = await measure(endpoint, folder, nth);
    rounds.push(round);
    const figures = Object.entries(round).map(([name, rate]) => `${name} ${Math.round(rate)}/s`);
    console.log(`round ${nth + 1}, ${OBJECTS} objects: ${figures.join(", ")}`);
  }
  const of = (name: keyof Round) => median(rounds.map((round) => round[name] / round.live));
  judge("backfill", of("backfill"), BACKFILL_RATIO_MIN);
  judge("replay", of("replay"), REPLAY_RATIO_MIN);
} finally {
  await server.stop();
  removeFolder(folder);
}
if (flags.check && missed > 0) process.exitCode = 1;
