// Measures backfill and replay against live ingestion of the same objects, in one run. Usage:
//   npm run bench:replay [-- --objects 20000] [--rounds 3] [--dir PATH] [--check] [--by-processor]
// The embedded cloud runs durably in a process of its own; live pipeline, backfill and replay use
// it over HTTP, one after another, each with a durable SQLite ledger and the same handler, which
// reads its object and writes one row. --check exits with an error if a target is missed, by wall
// time, or with --by-processor by processor time, whose ratios hold beside other work.
//   B1. Each round has its own bucket and ledgers. All objects are there before a clock runs.
//   B2. A clock runs until the last row is committed. Every row must be there, once.
//   B3. A round of WARM_UP objects that is not counted comes first, so that no phase pays for code
//       that runs for the first time. Live and backfill take turns at being first; a replay needs
//       what one of them has recorded, and follows live.
//   B4. Processor time is user and system time of all threads: of this process, and of the cloud's,
//       which answers every request.

import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { parseArgs } from "node:util";
import { S3 } from "@aws-sdk/client-s3";
import { SQS } from "@aws-sdk/client-sqs";
import { epochMs } from "../src/core/units.ts";
import { pipeline, tables } from "../src/ingest/spec/define-pipeline.ts";
import { openOperator } from "../src/operate/open-operator.ts";
import { startPipeline } from "../src/run/start-pipeline.ts";
import { type ChildServer, cpuMicros, startChild } from "./broker/child-server.ts";
import { freshFolder, removeFolder, serverArgs } from "./broker/servers.ts";
import { median } from "./broker/statistics.ts";

const { values: flags } = parseArgs({
  options: {
    objects: { type: "string", default: "20000" },
    rounds: { type: "string", default: "1" },
    concurrency: { type: "string", default: "10" },
    dir: { type: "string", default: tmpdir() },
    check: { type: "boolean", default: false },
    "by-processor": { type: "boolean", default: false },
  },
});
const OBJECTS = Number(flags.objects);
const ROUNDS = Number(flags.rounds);
const WARM_UP = 500;
const PUTTERS = 48;
const REPLAY_RATIO_MIN = 0.8;
const BACKFILL_RATIO_MIN = 1;
const credentials = { accessKeyId: "any", secretAccessKey: "any" };
const LATER = epochMs(Date.now() + 86_400_000);

/** What a phase took per object, in microseconds. */
interface Figures {
  readonly wall: number;
  /** Processor time of the process that ingests (B4). */
  readonly own: number;
  readonly cloud: number;
}

type Phase = "live" | "backfill" | "replay";
type Round = Readonly<Record<Phase, Figures>>;

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

async function fill(endpoint: string, bucket: string, objects: number): Promise<void> {
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
    for (let at = next++; at < objects; at = next++) {
      const Key = `in/${String(at).padStart(8, "0")}.txt`;
      await s3.putObject({ Bucket: bucket, Key, Body: `object ${at}` });
    }
  };
  await Promise.all(Array.from({ length: PUTTERS }, put));
  s3.destroy();
  sqs.destroy();
}

async function timed(
  server: ChildServer,
  objects: number,
  work: () => Promise<void>,
): Promise<Figures> {
  const cloud = cpuMicros(server);
  const own = process.cpuUsage();
  const from = performance.now();
  await work();
  const wall = (performance.now() - from) * 1_000;
  const { user, system } = process.cpuUsage(own);
  const each = (micros: number) => micros / objects;
  return { wall: each(wall), own: each(user + system), cloud: each(cpuMicros(server) - cloud) };
}

function expectRows(path: string, objects: number, table = "lines"): void {
  const db = new DatabaseSync(path, { readOnly: true });
  const [row] = db.prepare(`SELECT count(*) AS rows FROM "${table}"`).all();
  db.close();
  if (row?.rows !== objects) throw new Error(`${path} has ${row?.rows} rows of ${objects}`); // B2
}

async function measure(
  server: ChildServer,
  folder: string,
  { name, objects, order }: { name: string; objects: number; order: readonly Phase[] },
): Promise<Round> {
  const endpoint = `http://127.0.0.1:${server.port}`;
  const lines = pipelineOf(name);
  await fill(endpoint, name, objects); // B1
  const livePath = join(folder, `${name}-live.db`);
  const listedPath = join(folder, `${name}-listed.db`);
  const settings = (path: string) =>
    ({ endpoint, ledger: `sqlite:${path}`, metricsPort: 0, logLevel: "error" }) as const;
  const quiet = { onLogLine: () => {}, onError: () => {} };
  const phases: Record<Phase, () => Promise<Figures>> = {
    async live() {
      const figures = await timed(server, objects, async () => {
        const running = await startPipeline(lines, settings(livePath), quiet);
        while ((running.snapshot().committed ?? 0) < objects) {
          await new Promise((resolve) => setTimeout(resolve, 20));
        }
        await running.stop();
      });
      expectRows(livePath, objects);
      return figures;
    },
    async backfill() {
      const figures = await timed(server, objects, async () => {
        await using operator = openOperator({ ...settings(listedPath), pipeline: lines });
        await operator.backfill({ until: LATER, onLogLine: () => {} }).result();
      });
      expectRows(listedPath, objects);
      return figures;
    },
    async replay() {
      const ledger = `sqlite:${livePath}`;
      await using operator = openOperator({ pipeline: lines, ledger, endpoint });
      const window = { from: epochMs(0), to: epochMs(Date.now()) };
      const request = { ...window, bucket: null, prefix: null, into: "shadow" } as const;
      let table = "";
      const figures = await timed(server, objects, async () => {
        const status = await operator.replays.start(request).result();
        if (status.state !== "ready") throw new Error(`the replay is ${status.state}`);
        table = status.tables.get("lines") ?? "";
      });
      await operator.close();
      expectRows(livePath, objects, table);
      return figures;
    },
  };
  const round: Partial<Record<Phase, Figures>> = {};
  for (const phase of order) round[phase] = await phases[phase]();
  return round as Round;
}

/** B3 */
const ORDERS: readonly (readonly Phase[])[] = [
  ["live", "backfill", "replay"],
  ["backfill", "live", "replay"],
];

function textOf([name, { wall, own, cloud }]: [string, Figures]): string {
  const processor = `processor ${Math.round(own)} us, of the cloud ${Math.round(cloud)} us`;
  return `  ${name}: ${Math.round(1_000_000 / wall)}/s, each ${processor}`;
}

let missed = 0;

function judge(what: Exclude<Phase, "live">, rounds: readonly Round[], min: number): void {
  const against = (of: (figures: Figures) => number) =>
    median(rounds.map((round) => of(round.live) / of(round[what])));
  const wall = against((figures) => figures.wall);
  const processor = against(({ own, cloud }) => own + cloud);
  const own = against((figures) => figures.own);
  const judged = flags["by-processor"] ? processor : wall;
  if (judged < min) missed += 1;
  const verdict = `at least ${min}: ${judged >= min ? "met" : "missed"}`;
  const ratios = `wall ${wall.toFixed(2)}, processor ${processor.toFixed(2)}`;
  console.log(
    `  ${what} against live: ${ratios}, without the cloud ${own.toFixed(2)} (${verdict})`,
  );
}

const folder = freshFolder(flags.dir);
const server = await startChild({ args: serverArgs("ours", join(folder, "cloud")) });
try {
  await measure(server, folder, {
    name: "warm-up",
    objects: WARM_UP,
    order: ["live", "backfill", "replay"],
  }); // B3
  const rounds: Round[] = [];
  for (let nth = 0; nth < ROUNDS; nth += 1) {
    const order = ORDERS[nth % ORDERS.length] ?? [];
    const round = await measure(server, folder, { name: `bench-${nth}`, objects: OBJECTS, order });
    rounds.push(round);
    console.log(`round ${nth + 1}, ${OBJECTS} objects, in the order ${order.join(", ")}:`);
    for (const entry of Object.entries(round)) console.log(textOf(entry));
  }
  judge("backfill", rounds, BACKFILL_RATIO_MIN);
  judge("replay", rounds, REPLAY_RATIO_MIN);
} finally {
  await server.stop();
  removeFolder(folder);
}
if (flags.check && missed > 0) process.exitCode = 1;
