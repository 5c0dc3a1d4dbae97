// What is accounted for and not applied: dead letters, files on their way, and quarantined rows.

import { join } from "node:path";
import { SQS } from "@aws-sdk/client-sqs";
import { expect, test } from "vitest";
import { z } from "zod";
import { startCloud } from "../../../src/cloud/start-cloud.ts";
import { seconds } from "../../../src/core/units.ts";
import { tables } from "../../../src/index.ts";
import { pipeline } from "../../../src/ingest/spec/define-pipeline.ts";
import { PermanentError } from "../../../src/ingest/spec/handler-errors.ts";
import { startPipeline } from "../../../src/run/start-pipeline.ts";
import { audit } from "../../support/operated.ts";
import { createS3Client } from "../../support/s3-buckets.ts";
import { useTemporaryFolder } from "../../support/temporary-folder.ts";

const folder = useTemporaryFolder("not-applied");

async function createQueues(endpoint: string): Promise<string> {
  const credentials = { accessKeyId: "any", secretAccessKey: "any" };
  const sqs = new SQS({ endpoint, region: "us-east-1", credentials });
  const arnOf = async (QueueName: string, Attributes = {}) => {
    const { QueueUrl } = await sqs.createQueue({ QueueName, Attributes });
    const shown = await sqs.getQueueAttributes({ QueueUrl, AttributeNames: ["QueueArn"] });
    return String(shown.Attributes?.QueueArn);
  };
  const deadLetterTargetArn = await arnOf("items-dead");
  const RedrivePolicy = JSON.stringify({ deadLetterTargetArn, maxReceiveCount: 20 });
  return arnOf("items", { RedrivePolicy });
}

const handled: string[] = [];
const items = pipeline({
  name: "items",
  source: { bucket: "shop", queue: "items" },
  visibilityMs: seconds(10),
  format: "csv",
  schema: z.object({ id: z.string(), amount: z.coerce.number() }),
  onBadRow: "quarantine",
  sink: tables({ item: { columns: { id: "text", amount: "integer" }, key: ["id"] } }),
  async handler(event, { upsert }) {
    handled.push(event.object.key);
    if (event.object.key === "poison.csv") throw new PermanentError("no", { class: "poison" });
    for await (const row of event.rows()) upsert("item", row);
  },
});

test("a window with a dead letter, a young file or quarantined rows is not complete", async () => {
  await using cloud = await startCloud({ port: 0 });
  const s3 = createS3Client(cloud.endpoint);
  await s3.createBucket({ Bucket: "shop" });
  const QueueArn = await createQueues(cloud.endpoint);
  const settings = {
    endpoint: cloud.endpoint,
    ledger: `sqlite:${join(folder, "ledger.db")}`,
    metricsPort: 0,
    logLevel: "error",
  } as const;
  const put = (Key: string, Body: string) => s3.putObject({ Bucket: "shop", Key, Body });
  await put("early.csv", "id,amount\ne,1\n"); // Before the bucket notifies, so never announced.
  const verdict = async (graceMs: number) => {
    const { Contents = [] } = await s3.listObjectsV2({ Bucket: "shop" });
    const newest = Math.max(...Contents.map(({ LastModified }) => LastModified?.getTime() ?? 0));
    await expect.poll(() => Date.now() > newest, { interval: 5 }).toBe(true);
    return audit(items, settings, { graceMs });
  };
  const running = await startPipeline(items, settings, { onLogLine() {}, onError() {} });
  await running.stop();
  const young = await verdict(seconds(900));
  expect(young).toMatchObject({ verdict: "accounted", counts: { committed: 0, waiting: 1 } });
  expect(young.exceptions[0]?.reason).toContain("its event is not in the queue");

  await s3.putBucketNotificationConfiguration({
    Bucket: "shop",
    NotificationConfiguration: {
      QueueConfigurations: [{ QueueArn, Events: ["s3:ObjectCreated:*"] }],
    },
    SkipDestinationValidation: true,
  });
  for (const key of ["early.csv", "mixed.csv"]) await put(key, "id,amount\na,1\nb,x\nc,y\n");
  await put("poison.csv", "id,amount\np,1\n");
  const again = await startPipeline(items, settings, { onLogLine() {}, onError() {} });
  await expect.poll(() => new Set(handled).size).toBe(3);
  await again.idle();
  await again.stop();
  const after = await verdict(0);
  expect(after).toMatchObject({
    verdict: "accounted",
    counts: { committed: 2, "dead-lettered": 1, missing: 0 },
    quarantined: { sets: 2, rows: 4 },
  });
});
