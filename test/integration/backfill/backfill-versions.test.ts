// Backfill with all versions, on the embedded cloud and on moto: the versions of an object in their
// order, each once, and live events of the same versions apply nothing, in either order.

import { join } from "node:path";
import { SQS } from "@aws-sdk/client-sqs";
import { expect, test } from "vitest";
import { startCloud } from "../../../src/cloud/start-cloud.ts";
import { epochMs, seconds } from "../../../src/core/units.ts";
import { tables } from "../../../src/index.ts";
import { pipeline } from "../../../src/ingest/spec/define-pipeline.ts";
import { systemPorts } from "../../../src/platform/index.ts";
import { openLedger } from "../../../src/run/open/open-ledger.ts";
import { startPipeline } from "../../../src/run/start-pipeline.ts";
import { useForeignServer } from "../../support/foreign/foreign-servers.ts";
import { backfill } from "../../support/operated.ts";
import { createS3Client } from "../../support/s3-buckets.ts";
import { useTemporaryFolder } from "../../support/temporary-folder.ts";

const folder = useTemporaryFolder("backfill-versions");
const moto = await useForeignServer("moto");
const credentials = { accessKeyId: "any", secretAccessKey: "any" };
const quiet = { onLogLine: () => {}, onError: () => {} };
const ALL = { until: epochMs(Date.now() + 3_600_000), versions: true };

async function bucketOn(endpoint: string, bucket: string, onRemoved: "ignore" | "delete-rows") {
  const s3 = createS3Client(endpoint);
  const sqs = new SQS({ endpoint, region: "us-east-1", credentials });
  await s3.createBucket({ Bucket: bucket });
  const { QueueUrl = "" } = await sqs.createQueue({ QueueName: `${bucket}-events` });
  const handled: string[] = [];
  const lines = pipeline({
    name: bucket,
    source: { bucket, queue: `${bucket}-events` },
    visibilityMs: seconds(10),
    onRemoved,
    sink: tables({ lines: { columns: { id: "text", body: "text" }, key: ["id"] } }),
    async handler(event, { upsert }) {
      const body = await event.text();
      handled.push(`${event.object.key}=${body}`);
      upsert("lines", { id: event.object.key, body });
    },
  });
  const ledger = `sqlite:${join(folder, `${bucket}.db`)}`;
  const settings = { endpoint, ledger, metricsPort: 0, logLevel: "error" } as const;
  return {
    handled,
    settings,
    lines,
    put: async (Key: string, Body: string) =>
      (await s3.putObject({ Bucket: bucket, Key, Body })).VersionId,
    remove: (Key: string) => s3.deleteObject({ Bucket: bucket, Key }),
    keepVersions: () =>
      s3.putBucketVersioning({
        Bucket: bucket,
        VersioningConfiguration: { Status: "Enabled" },
      }),
    async notify() {
      const names = { QueueUrl, AttributeNames: ["QueueArn" as const] };
      const { Attributes } = await sqs.getQueueAttributes(names);
      const QueueArn = String(Attributes?.QueueArn);
      const configuration = { QueueArn, Events: ["s3:ObjectCreated:*" as const] };
      await s3.putBucketNotificationConfiguration({
        Bucket: bucket,
        NotificationConfiguration: { QueueConfigurations: [configuration] },
        SkipDestinationValidation: true,
      });
    },
    /** The versions that were applied, in the order of their commits. */
    async applied(): Promise<string[]> {
      const opened = await openLedger(ledger, systemPorts, { readOnly: true });
      const query = { by: "object", bucket } as const;
      const scope = { pipeline: bucket, generation: 0 };
      const { records } = await opened.listRecords(scope, query, { after: null, limit: 100 });
      await opened.close();
      return records
        .filter(({ record }) => record.kind === "committed" && !record.superseded)
        .toSorted((one, two) => one.record.fence - two.record.fence)
        .map(({ input }) => String(input.object?.versionId));
    },
    of: (key: string) => handled.filter((one) => one.startsWith(`${key}=`)),
  };
}

async function ingestVersions(endpoint: string, bucket: string): Promise<void> {
  const world = await bucketOn(endpoint, bucket, "ignore");
  await world.put("a", "before versions");
  await world.keepVersions();
  for (const body of ["1", "2"]) await world.put("a", body);
  for (const body of ["1", "2", "3"]) await world.put("b", body);
  await world.remove("b");
  const first = await backfill(world.lines, world.settings, ALL);
  expect(first).toMatchObject({ listed: 6, done: 6, skipped: 0, unfinished: 0 });
  expect(world.of("a")).toEqual(["a=before versions", "a=1", "a=2"]);
  expect(world.of("b")).toEqual(["b=1", "b=2", "b=3"]);
  const again = await backfill(world.lines, world.settings, ALL);
  expect(again).toMatchObject({ listed: 6, done: 0, skipped: 6 });
  expect(world.handled).toHaveLength(6);
}

test("all versions are ingested in their order, each once", async () => {
  await using cloud = await startCloud({ port: 0 });
  await ingestVersions(cloud.endpoint, "ordered");
});

test.skipIf(moto === null)("all versions are ingested in their order, each once, on moto", () =>
  ingestVersions(moto ?? "", `moto-versions-${Date.now()}`),
);

test("events of versions that a backfill ingested apply nothing, and newer ones do", async () => {
  await using cloud = await startCloud({ port: 0 });
  const world = await bucketOn(cloud.endpoint, "listed-first", "ignore");
  await world.keepVersions();
  await world.notify();
  const versions = [];
  for (const body of ["1", "2", "3"]) versions.push(await world.put("a", body));
  await backfill(world.lines, world.settings, ALL);
  expect(world.handled).toEqual(["a=1", "a=2", "a=3"]);
  const running = await startPipeline(world.lines, world.settings, quiet);
  try {
    await running.idle();
    versions.push(await world.put("a", "4"));
    await expect.poll(() => world.handled.at(-1)).toBe("a=4");
    await running.idle();
  } finally {
    await running.stop();
  }
  expect(await world.applied()).toEqual(versions);
});

test("a backfill after the events applies nothing, nor a version older than the applied one", async () => {
  await using cloud = await startCloud({ port: 0 });
  const world = await bucketOn(cloud.endpoint, "live-first", "ignore");
  await world.keepVersions();
  await world.put("a", "unannounced");
  await world.notify();
  const versions = [];
  for (const body of ["1", "2"]) versions.push(await world.put("a", body));
  const running = await startPipeline(world.lines, world.settings, quiet);
  try {
    await expect.poll(() => world.handled.at(-1)).toBe("a=2");
    await running.idle();
  } finally {
    await running.stop();
  }
  await backfill(world.lines, world.settings, ALL);
  expect(await world.applied()).toEqual(versions);
});

test("a pipeline that deletes rows does not bring back versions of a deleted object", async () => {
  await using cloud = await startCloud({ port: 0 });
  const world = await bucketOn(cloud.endpoint, "deleted", "delete-rows");
  await world.keepVersions();
  for (const body of ["1", "2"]) await world.put("gone", body);
  await world.remove("gone");
  await world.put("here", "1");
  const result = await backfill(world.lines, world.settings, ALL);
  expect(result).toMatchObject({ listed: 3, done: 1, skipped: 2 });
  expect(world.handled).toEqual(["here=1"]);
});
