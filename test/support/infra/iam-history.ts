// IAM history: a function of Lambda, manifests and objects in a bucket, audits with their repair,
// backfills of all versions, and replays with their promotion, each under the policy of its role.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ListObjectsV2Command, PutObjectCommand, S3Client } from "@aws-sdk/client-s3";
import { PurgeQueueCommand, SQSClient } from "@aws-sdk/client-sqs";
import { expect } from "vitest";
import { lambdaHandler } from "../../../src/adapters/lambda/open-lambda.ts";
import { objects } from "../../../src/api/aws/s3.ts";
import { openSqsQueue } from "../../../src/aws/sqs/open-sqs-queue.ts";
import { epochMs } from "../../../src/core/units.ts";
import { type Pipeline, pipeline, tables } from "../../../src/index.ts";
import type { IamRole } from "../../../src/infra/iam-table.ts";
import { planInfra } from "../../../src/infra/infra-plan.ts";
import { systemClock } from "../../../src/platform/system-clock.ts";
import { prepareRun } from "../../../src/run/prepare-run.ts";
import { startPipeline } from "../../../src/run/start-pipeline.ts";
import { createEventSourceMapping } from "../../../src/testkit/lambda/event-source-mapping.ts";
import { eventually } from "../eventually.ts";
import { audit, backfill, openReplays, repair } from "../operated.ts";
import type { IamWorld } from "./iam-world.ts";

const BUCKET = "acme-sales";
const OUTPUTS = "acme-outputs";

export const SALES_PLAN = planInfra(
  {
    name: "sales",
    bucket: BUCKET,
    prefix: "in/",
    queue: null,
    visibilityMs: 9_000,
    maxReceiveCount: { standard: 25, fifo: 1_000 },
  },
  {
    kms: true,
    listing: true,
    backfill: true,
    outputs: [`s3://${OUTPUTS}/manifests/`, `s3://${OUTPUTS}/reports`],
  },
);

/** `factor` is what a replay corrects. */
const sales = (factor: number) =>
  pipeline({
    name: "sales",
    source: { bucket: BUCKET, prefix: "in/" },
    format: "csv",
    visibilityMs: 9_000,
    sink: tables({ sales: { columns: { id: "text", amount: "integer" }, key: ["id"] } }),
    async handler(file, { upsert }) {
      for await (const { id = "", amount } of file.rows()) {
        upsert("sales", { id, amount: Number(amount) * factor });
      }
    },
  });

const silent = { onLogLine: () => undefined };
const QUIET = { debug() {}, info() {}, warn() {}, error() {} };
const LOCAL = {
  region: "us-east-1",
  credentials: { accessKeyId: "local", secretAccessKey: "local" },
};

/** Everything that happens to past and present objects of a bucket. */
export async function runHistory(world: IamWorld): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "tidegate-iam-"));
  const tablesDatabase = join(folder, "tables.db");
  try {
    await runWithManifests(world, tablesDatabase);
    await runFunction(world, tablesDatabase);
    await writeObjects(world);
    await auditAndRepair(world, tablesDatabase);
    await replayAndPromote(world, tablesDatabase);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function settingsOf(world: IamWorld, role: IamRole, tablesDatabase?: string) {
  return {
    endpoint: world.recorder(role).endpoint,
    region: "us-east-1",
    queue: world.plan.queue,
    ledger: world.ledgerUrl(role),
    metricsPort: 0,
    ...(tablesDatabase !== undefined && { tablesDatabase }),
  };
}

/** A client of the test itself, without a role. */
function bareS3({ cloud }: IamWorld): S3Client {
  return new S3Client({ ...LOCAL, endpoint: cloud.endpoint, forcePathStyle: true });
}

async function put(world: IamWorld, ...names: string[]): Promise<void> {
  const s3 = bareS3(world);
  for (const name of names) {
    const Key = `in/${name}.csv`;
    await s3.send(new PutObjectCommand({ Bucket: BUCKET, Key, Body: `id,amount\n${name},1\n` }));
  }
  s3.destroy();
}

async function outputKeys(world: IamWorld): Promise<string[]> {
  const s3 = bareS3(world);
  const { Contents = [] } = await s3.send(new ListObjectsV2Command({ Bucket: OUTPUTS }));
  s3.destroy();
  return Contents.map(({ Key = "" }) => Key);
}

/** Its manifest is written when the run ends. */
async function runWithManifests(world: IamWorld, tablesDatabase: string): Promise<void> {
  const manifests = `s3://${OUTPUTS}/manifests`;
  const settings = { ...settingsOf(world, "consumer", tablesDatabase), manifests };
  const running = await startPipeline(sales(2), settings, silent);
  await put(world, "a");
  await running.idle();
  await running.drain();
  const [key] = await outputKeys(world);
  expect(key).toMatch(/^manifests\/.+\.json$/);
}

/** Lambda polls the queue with the role of the function. */
async function runFunction(world: IamWorld, tablesDatabase: string): Promise<void> {
  const { endpoint, region, ledger } = settingsOf(world, "consumer");
  const handler = lambdaHandler(sales(2), {
    endpoint,
    region,
    ledger,
    tablesDatabase,
    logger: QUIET,
  });
  const queue = await openSqsQueue({
    client: world.clients("consumer").sqs,
    queue: world.plan.queue,
  });
  const mapping = createEventSourceMapping(
    { clock: systemClock, queue, invocationClock: systemClock },
    { handler: handler as never, functionName: "sales" },
    {},
  );
  await put(world, "b");
  await mapping.start();
  await eventually(async () => {
    const { visible, hidden, delayed } = await queue.facts();
    expect(visible + hidden + delayed).toBe(0);
  });
  await mapping.stop();
  expect(mapping.invocations.map(({ error }) => error)).toContain(null);
  await handler.close();
}

/** A sink that writes objects. */
async function writeObjects(world: IamWorld): Promise<void> {
  const { s3: client } = world.clients("consumer");
  const reports: Pipeline = pipeline({
    name: "reports",
    source: { bucket: BUCKET, prefix: "in/" },
    visibilityMs: 9_000,
    sink: objects({ client, bucket: OUTPUTS, prefix: "reports/" }),
    handler: (file, { emit }) => emit({ key: `${file.object.key}.txt`, body: "done" }),
  });
  await using running = await startPipeline(reports, settingsOf(world, "consumer"), silent);
  await put(world, "c");
  await running.idle();
  expect(await outputKeys(world)).toContain("reports/in/c.csv.txt");
}

/** Events of objects are lost; the operator's audit finds them, and the consumer takes them in. */
async function auditAndRepair(world: IamWorld, tablesDatabase: string): Promise<void> {
  await put(world, "d", "e", "e");
  const sqs = new SQSClient({ ...LOCAL, endpoint: world.cloud.endpoint });
  const QueueUrl = `${world.cloud.endpoint}/000000000000/${world.plan.queue}`;
  await sqs.send(new PurgeQueueCommand({ QueueUrl }));
  sqs.destroy();
  const warnings: string[] = [];
  const call = { graceMs: 0, onWarning: (text: string) => void warnings.push(text) };
  const looked = await audit(sales(2), settingsOf(world, "operator", tablesDatabase), call);
  expect([looked.verdict, looked.queue.read]).toEqual(["incomplete", "counted"]);
  const consumer = settingsOf(world, "consumer", tablesDatabase);
  const before = await audit(sales(2), consumer, call);
  expect(await repair(sales(2), consumer, before, silent)).toBe(before.counts.missing);
  expect((await audit(sales(2), consumer, call)).counts.missing).toBe(0);
  expect(warnings).toEqual([]);
  const all = await backfill(sales(2), consumer, { versions: true, ...silent });
  expect(all).toMatchObject({ unfinished: 0 });
}

/** The consumer replays; the operator compares, promotes and drops. */
async function replayAndPromote(world: IamWorld, tablesDatabase: string): Promise<void> {
  const open = (role: IamRole) => {
    const { pipeline: fixed } = prepareRun("run", sales(3), { tablesDatabase });
    return openReplays(fixed, settingsOf(world, role));
  };
  const request = { from: epochMs(0), to: systemClock.now(), bucket: null, prefix: null };
  await using replays = await open("consumer");
  const shadow = await replays.start({ ...request, into: "shadow" });
  expect(shadow.state).toBe("ready");
  const live = await replays.start({ ...request, into: "live" });
  expect(live.state).toBe("complete");
  await using looking = await open("operator");
  expect(await looking.list()).toHaveLength(2);
  expect(await looking.diff(shadow.entry.run, 1)).toHaveLength(1);
  await looking.promote(shadow.entry.run);
  expect((await looking.show(shadow.entry.run)).state).toBe("promoted");
  await looking.drop(live.entry.run);
}
