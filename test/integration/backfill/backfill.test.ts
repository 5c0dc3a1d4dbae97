// Backfill: what was in the bucket before its notifications, beside a running pipeline, on the
// embedded cloud, and on DynamoDB Local with moto.

import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { S3 } from "@aws-sdk/client-s3";
import { SQS } from "@aws-sdk/client-sqs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startCloud } from "../../../src/cloud/start-cloud.ts";
import { epochMs, seconds } from "../../../src/core/units.ts";
import { tables } from "../../../src/index.ts";
import { pipeline } from "../../../src/ingest/spec/define-pipeline.ts";
import { systemPorts } from "../../../src/platform/index.ts";
import type { RunSettings } from "../../../src/run/config.ts";
import { openLedger } from "../../../src/run/open/open-ledger.ts";
import { startPipeline } from "../../../src/run/start-pipeline.ts";
import { useForeignServer } from "../../support/foreign/foreign-servers.ts";
import { isFullSize } from "../../support/full-size.ts";
import { backfill } from "../../support/operated.ts";
import { createS3Client } from "../../support/s3-buckets.ts";
import { useDynamo } from "../../support/stores/database-servers.ts";
import { useTemporaryFolder } from "../../support/temporary-folder.ts";

const folder = useTemporaryFolder("backfill");
const moto = isFullSize ? await useForeignServer("moto") : null;
const dynamo = isFullSize ? await useDynamo() : null;
const quiet = { onLogLine: () => {}, onError: () => {} };
const credentials = { accessKeyId: "any", secretAccessKey: "any" };
let cloud: Awaited<ReturnType<typeof startCloud>>;
let names = 0;

beforeAll(async () => {
  cloud = await startCloud({ port: 0 });
});
afterAll(() => cloud.close());

interface Place {
  readonly s3: S3;
  readonly bucket: string;
  readonly queue: string;
  readonly handled: string[];
  readonly settings: RunSettings & { readonly ledger: string };
  readonly tables: string;
  readonly lines: ReturnType<typeof pipeline>;
  put(key: string, body: string): Promise<unknown>;
  /** Announces every later change of the bucket. */
  notify(): Promise<void>;
}

async function placeOn(
  endpoint: string,
  more: { readonly ledger?: string; readonly tablesDatabase?: string } = {},
): Promise<Place> {
  names += 1;
  const bucket = `backfill-${names}`;
  const s3 = createS3Client(endpoint);
  const sqs = new SQS({ endpoint, region: "us-east-1", credentials });
  await s3.createBucket({ Bucket: bucket });
  const { QueueUrl = "" } = await sqs.createQueue({ QueueName: `${bucket}-events` });
  const attributes = await sqs.getQueueAttributes({ QueueUrl, AttributeNames: ["QueueArn"] });
  const handled: string[] = [];
  const file = join(folder, `${bucket}.db`);
  const lines = pipeline({
    name: bucket,
    source: { bucket, queue: `${bucket}-events` },
    visibilityMs: seconds(10),
    sink: tables({ lines: { columns: { id: "text", body: "text" }, key: ["id"] } }),
    async handler(event, { upsert }) {
      const body = await event.text();
      handled.push(`${event.object.key}=${body}`);
      upsert("lines", { id: event.object.key, body });
    },
  });
  return {
    s3,
    bucket,
    queue: QueueUrl,
    handled,
    lines,
    tables: file,
    settings: { endpoint, ledger: `sqlite:${file}`, metricsPort: 0, logLevel: "error", ...more },
    put: (Key, Body) => s3.putObject({ Bucket: bucket, Key, Body }),
    async notify() {
      const QueueArn = String(attributes.Attributes?.QueueArn);
      const configuration = { QueueArn, Events: ["s3:ObjectCreated:*" as const] };
      await s3.putBucketNotificationConfiguration({
        Bucket: bucket,
        NotificationConfiguration: { QueueConfigurations: [configuration] },
        SkipDestinationValidation: true,
      });
    },
  };
}

function rowsIn(world: Place): unknown[] {
  const db = new DatabaseSync(world.tables, { readOnly: true });
  const rows = db.prepare("SELECT id, body FROM lines ORDER BY id").all();
  db.close();
  return rows.map((row) => ({ ...row }));
}

/** The records that were applied, by object and kind of source. */
async function appliedIn({ settings, bucket }: Place): Promise<string[]> {
  const ledger = await openLedger(settings.ledger, systemPorts, { readOnly: true });
  const query = { by: "object", bucket } as const;
  const scope = { pipeline: bucket, generation: 0 };
  const { records } = await ledger.listRecords(scope, query, { after: null, limit: 100 });
  await ledger.close();
  const applied = records.filter(({ record }) => record.kind === "committed" && !record.superseded);
  const nameOf = ({ input }: (typeof records)[number]) =>
    `${input.object?.key} ${input.object?.sequencer === null ? "listed" : "event"}`;
  return applied.map(nameOf).toSorted();
}

/** Objects of the very second are left to their events. */
const LATER = { until: epochMs(Date.now() + 3_600_000) };

async function tellBackfill(world: Place): Promise<void> {
  for (let nth = 0; nth < 5; nth += 1) await world.put(`in/${nth}.txt`, `${nth}`);
  const planned = await backfill(world.lines, world.settings, { ...LATER, dryRun: true }).catch(
    (error: Error) => error.message,
  );
  if (typeof planned === "object") expect(planned).toMatchObject({ listed: 5, done: 5 });
  const first = await backfill(world.lines, world.settings, { ...LATER, prefix: "in/" });
  expect(first).toMatchObject({ listed: 5, done: 5, skipped: 0, unfinished: 0, continued: false });
  expect(world.handled.toSorted()).toEqual([0, 1, 2, 3, 4].map((nth) => `in/${nth}.txt=${nth}`));
  const again = await backfill(world.lines, world.settings, LATER);
  expect(again).toMatchObject({ listed: 5, done: 0, skipped: 5 });
  expect(world.handled).toHaveLength(5);
  expect(rowsIn(world)).toHaveLength(5);
}

describe("on the embedded cloud", () => {
  test("objects without notifications are ingested once, and a dry run writes nothing", async () => {
    await tellBackfill(await placeOn(cloud.endpoint));
  });

  test("a live event after its backfill, and a backfill after its event, apply nothing", async () => {
    const world = await placeOn(cloud.endpoint);
    await world.notify();
    await world.put("a.txt", "a");
    await world.put("b.txt", "b");
    await backfill(world.lines, world.settings, LATER);
    expect(world.handled.toSorted()).toEqual(["a.txt=a", "b.txt=b"]);
    const running = await startPipeline(world.lines, world.settings, quiet);
    try {
      await running.idle();
      await world.put("b.txt", "newer");
      await running.idle();
      await expect
        .poll(() => rowsIn(world))
        .toEqual([
          { id: "a.txt", body: "a" },
          { id: "b.txt", body: "newer" },
        ]);
      await running.idle();
      const { skipped, done } = await backfill(world.lines, world.settings, LATER);
      expect({ skipped, done }).toEqual({ skipped: 2, done: 0 });
    } finally {
      await running.stop();
    }
    expect(await appliedIn(world)).toEqual(["a.txt listed", "b.txt event", "b.txt listed"]);
  });

  test("a backfill that is stopped is continued by the next one with the same request", async () => {
    const world = await placeOn(cloud.endpoint);
    for (let nth = 0; nth < 3; nth += 1) await world.put(`${nth}.txt`, "x");
    const stopping = new AbortController();
    const call = { ...LATER, signal: stopping.signal };
    const only = () => {
      stopping.abort(new Error("killed"));
      return true;
    };
    await expect(backfill(world.lines, world.settings, { ...call, only })).rejects.toThrow();
    const next = await backfill(world.lines, world.settings, LATER);
    expect(next).toMatchObject({ continued: true, unfinished: 0 });
    expect(world.handled.toSorted()).toEqual(["0.txt=x", "1.txt=x", "2.txt=x"]);
    expect(await backfill(world.lines, world.settings, LATER)).toMatchObject({ continued: false });
  });

  test("a request that can never match is refused in one sentence", async () => {
    const world = await placeOn(cloud.endpoint);
    const ask = (call: Parameters<typeof backfill>[2]) =>
      backfill(world.lines, world.settings, call).then(
        () => "",
        (error: Error) => error.message,
      );
    const [early, late] = [epochMs(Date.UTC(2020, 0, 1)), epochMs(Date.UTC(2020, 0, 2))];
    expect(await ask({ since: late, until: early })).toMatch(/is not before the end/);
    expect(await ask({ since: epochMs(Date.UTC(2999, 0, 1)) })).toMatch(/is in the future/);
    expect(await ask({ bucket: "other" })).toMatch(/is not the bucket of the pipeline/);
    expect(await ask({ since: early, until: late })).toBe("");
  });
});

describe.skipIf(moto === null || dynamo?.available !== true)("on moto and DynamoDB Local", () => {
  test("objects without notifications are ingested once", async () => {
    const { table, endpoint } = { table: `backfill${Date.now()}`, endpoint: dynamo?.endpoint };
    const ledger = `dynamodb://${table}?region=us-east-1&endpoint=${endpoint}`;
    const tablesDatabase = join(folder, `backfill-${names + 1}.db`);
    await tellBackfill(await placeOn(moto ?? "", { ledger, tablesDatabase }));
  });
});
