// Corruption world: a pipeline that has ingested files with overlapping rows, a correction, a
// removed row, a dead letter, a redriven quarantine and a backfill, for tests that edit its stores.

import { SQS } from "@aws-sdk/client-sqs";
import { expect } from "vitest";
import { z } from "zod";
import { startCloud } from "../../src/cloud/start-cloud.ts";
import { seconds } from "../../src/core/units.ts";
import { tables } from "../../src/index.ts";
import { pipeline } from "../../src/ingest/spec/define-pipeline.ts";
import { PermanentError } from "../../src/ingest/spec/handler-errors.ts";
import { openOperator } from "../../src/operate/open-operator.ts";
import { startPipeline } from "../../src/run/start-pipeline.ts";
import { createS3Client } from "./s3-buckets.ts";

const credentials = { accessKeyId: "any", secretAccessKey: "any" };

export interface CorruptionWorld extends AsyncDisposable {
  readonly spec: ReturnType<typeof pipeline>;
  readonly settings: { readonly endpoint: string; readonly ledger: string };
}

/** Files whose rows overlap: each key has one winner, and some have losers. */
const FILES = [
  ["a.csv", "id,amount,price,note\n1,10,1.5,x\n2,20,0.1,y\n3,30,2,z\n"],
  ["b.csv", "id,amount,price,note\n3,31,2.5,z\n4,40,1e21,ü\n"],
  ["a.csv", "id,amount,price,note\n1,11,1.25,x\n3,33,2.75,zz\n5,50,-0,w\n"],
  ["bad.csv", "id,amount,price,note\n6,60,1,q\n7,700,1,q\n"],
  ["poison.csv", "id,amount,price,note\n8,80,1,q\n"],
] as const;

export async function createCorruptionWorld(ledger: string): Promise<CorruptionWorld> {
  const rules = { max: 100 };
  const spec = pipeline({
    name: "items",
    source: { bucket: "shop", queue: "items" },
    visibilityMs: seconds(10),
    format: "csv",
    schema: z.object({
      id: z.string(),
      amount: z.coerce.number().refine((value) => value <= rules.max),
      price: z.coerce.number(),
      note: z.string(),
    }),
    onBadRow: "quarantine",
    sink: tables({
      item: {
        columns: { id: "text", amount: "integer", price: "real", note: "json" },
        key: ["id"],
      },
      total: { columns: { file: "text", rows: "bigint" }, key: ["file"] },
    }),
    async handler(event, { upsert }) {
      if (event.object.key === "poison.csv") throw new PermanentError("no", { class: "poison" });
      let rows = 0;
      for await (const { note, ...row } of event.rows()) {
        upsert("item", { ...row, note: { note } });
        rows += 1;
      }
      upsert("total", { file: event.object.key, rows: BigInt(rows) });
    },
  });
  const cloud = await startCloud({ port: 0 });
  const { endpoint } = cloud;
  const s3 = createS3Client(endpoint);
  await s3.createBucket({ Bucket: "shop" });
  await s3.putBucketVersioning({
    Bucket: "shop",
    VersioningConfiguration: { Status: "Enabled" },
  });
  const early = { Bucket: "shop", Key: "early.csv", Body: "id,amount,price,note\n9,90,9,e\n" };
  await s3.putObject(early);
  await notify(endpoint, s3);
  const settings = { endpoint, ledger, metricsPort: 0, logLevel: "error" } as const;
  const running = await startPipeline(spec, settings, { onLogLine() {}, onError() {} });
  for (const [Key, Body] of FILES) {
    await s3.putObject({ Bucket: "shop", Key, Body });
    await running.idle();
  }
  rules.max = 1_000;
  await using operator = openOperator({ ...settings, pipeline: spec });
  expect(await operator.quarantine.redrive().result()).toMatchObject({ sent: 1, committed: 1 });
  await running.stop();
  expect(await operator.backfill({ onLogLine() {} }).result()).toMatchObject({ done: 1 });
  return { spec, settings, [Symbol.asyncDispose]: () => cloud.close() };
}

async function notify(endpoint: string, s3: ReturnType<typeof createS3Client>): Promise<void> {
  const sqs = new SQS({ endpoint, region: "us-east-1", credentials });
  const arnOf = async (QueueName: string, Attributes = {}) => {
    const { QueueUrl } = await sqs.createQueue({ QueueName, Attributes });
    const shown = await sqs.getQueueAttributes({ QueueUrl, AttributeNames: ["QueueArn"] });
    return String(shown.Attributes?.QueueArn);
  };
  const deadLetterTargetArn = await arnOf("items-dead");
  const RedrivePolicy = JSON.stringify({ deadLetterTargetArn, maxReceiveCount: 20 });
  const QueueArn = await arnOf("items", { RedrivePolicy });
  await s3.putBucketNotificationConfiguration({
    Bucket: "shop",
    NotificationConfiguration: {
      QueueConfigurations: [{ QueueArn, Events: ["s3:ObjectCreated:*"] }],
    },
    SkipDestinationValidation: true,
  });
}
