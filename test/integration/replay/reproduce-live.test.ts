// A live run writes its manifest, to a folder and to a bucket; `reproduce` runs it again. Replays
// give the same content hashes twice and with other concurrency. On SQLite and on PostgreSQL.

import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { S3 } from "@aws-sdk/client-s3";
import { SQS } from "@aws-sdk/client-sqs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startCloud } from "../../../src/cloud/start-cloud.ts";
import { epochMs } from "../../../src/core/units.ts";
import { type Pipeline, pipeline, tables } from "../../../src/ingest/spec/define-pipeline.ts";
import { digestOfManifest, type RunManifest } from "../../../src/lineage/run-manifest.ts";
import type { RunningPipeline } from "../../../src/run/run-pipeline.ts";
import { startPipeline } from "../../../src/run/start-pipeline.ts";
import { endOf, startCommand } from "../../support/command-process.ts";
import { openReplays } from "../../support/operated.ts";
import { createS3Client } from "../../support/s3-buckets.ts";
import { usePostgres } from "../../support/stores/database-servers.ts";
import { useTemporaryFolder } from "../../support/temporary-folder.ts";

const folder = useTemporaryFolder("reproduce-live");
const postgres = await usePostgres();
const credentials = { accessKeyId: "any", secretAccessKey: "any" };
let cloud: Awaited<ReturnType<typeof startCloud>>;

beforeAll(async () => {
  cloud = await startCloud({ port: 0 });
});
afterAll(() => cloud.close());

/** Time and randomness of the context, or of the process. */
const sourceOf = (
  name: string,
  note: string,
  vat = 2,
) => `import { pipeline, tables } from "tidegate";
export default pipeline({
  name: "${name}",
  source: { bucket: "${name}", prefix: "in/", queue: "${name}-events" },
  format: "csv",
  frozen: { seed: "7", parameters: { vat: ${vat} }, lookups: { rates: { eur: 1 } } },
  sink: tables({
    orders: { columns: { id: "text", amount: "integer", note: "text" }, key: ["id"] },
  }),
  async handler(file, { upsert, now, random, uuid, parameters, lookups }) {
    for await (const { id, amount } of file.rows()) {
      const note = ${note};
      upsert("orders", { id, amount: Number(amount) * parameters.vat * lookups.rates.eur, note });
    }
  },
});
`;
// biome-ignore lint/suspicious/noTemplateCurlyInString: it is the text of a pipeline file.
const FROM_CONTEXT = "`${now()} ${random()} ${uuid()}`";

/** The pipeline of that file, for this process. */
function ordersOf(name: string, more: object = {}): Pipeline {
  return pipeline({
    name,
    source: { bucket: name, prefix: "in/", queue: `${name}-events` },
    format: "csv",
    frozen: { seed: "7", parameters: { vat: 2 }, lookups: { rates: { eur: 1 } } },
    sink: tables({
      orders: { columns: { id: "text", amount: "integer", note: "text" }, key: ["id"] },
    }),
    async handler(file, { upsert, now, random, uuid, parameters, lookups }) {
      for await (const { id = "", amount } of file.rows()) {
        const note = `${now()} ${random()} ${uuid()}`;
        upsert("orders", { id, amount: Number(amount) * parameters.vat * lookups.rates.eur, note });
      }
    },
    ...more,
  });
}

async function prepare(name: string) {
  const s3 = createS3Client(cloud.endpoint);
  const sqs = new SQS({ endpoint: cloud.endpoint, region: "us-east-1", credentials });
  await s3.createBucket({ Bucket: name });
  await s3.putBucketVersioning({
    Bucket: name,
    VersioningConfiguration: { Status: "Enabled" },
  });
  const { QueueUrl = "" } = await sqs.createQueue({ QueueName: `${name}-events` });
  const { Attributes } = await sqs.getQueueAttributes({ QueueUrl, AttributeNames: ["QueueArn"] });
  const QueueArn = Attributes?.QueueArn ?? "";
  await s3.putBucketNotificationConfiguration({
    Bucket: name,
    NotificationConfiguration: {
      QueueConfigurations: [{ QueueArn, Events: ["s3:ObjectCreated:*"] }],
    },
  });
  sqs.destroy();
  return s3;
}

async function ingest(s3: S3, name: string, running: RunningPipeline): Promise<void> {
  const files = [
    ["in/a.csv", "id,amount\na1,1\nx,1\n"],
    ["in/b.csv", "id,amount\nb1,2\nx,2\n"],
    ["in/a.csv", "id,amount\na1,3\n"],
  ] as const;
  for (const [at, [key, body]] of files.entries()) {
    await s3.putObject({ Bucket: name, Key: key, Body: body });
    // One by one: a version that comes after a newer one is not committed.
    await expect.poll(() => running.snapshot().committed).toBe(at + 1);
  }
}

/** `tidegate reproduce` on a manifest. */
async function reproduced(path: string, ledger: string, cwd: string) {
  const words = ["reproduce", path, "--ledger", ledger, "--endpoint", cloud.endpoint];
  const { code, out, err } = await endOf(startCommand(words, { cwd }));
  return { code, out, err };
}

/** The contents of two replays, with other settings and another concurrency. */
async function replayHashes(name: string, ledger: string): Promise<Set<string>> {
  const to = epochMs(Date.now());
  const request = { from: epochMs(0), to, bucket: null, prefix: null, into: "shadow" } as const;
  const hashes = new Set<string>();
  for (const [at, concurrency] of [10, 1].entries()) {
    const orders = ordersOf(name, { timeoutMs: 60_000 + at });
    await using replays = await openReplays(orders, { ledger, endpoint: cloud.endpoint });
    const { state, entry, uses } = await replays.start(request, { concurrency });
    expect([state, uses]).toEqual(["ready", []]);
    hashes.add(JSON.stringify(await replays.contents(entry.run)));
    await replays.drop(entry.run);
  }
  return hashes;
}

describe.each(["sqlite", "postgres"] as const)("on %s", (store) => {
  const enabled = store === "sqlite" || postgres.available;
  test.runIf(enabled)(
    "a live run can be reproduced from its manifest",
    async () => {
      const name = `orders-${store}`;
      const home = join(folder, name);
      mkdirSync(home);
      const s3 = await prepare(name);
      const file = join(home, "pipeline.ts");
      writeFileSync(file, sourceOf(name, FROM_CONTEXT));
      const ledger =
        store === "sqlite" ? `sqlite:${join(home, "ledger.db")}` : await postgres.freshUrl();
      const manifests = join(home, "manifests");
      const settings = { endpoint: cloud.endpoint, ledger, metricsPort: 0 };
      const orders = ordersOf(name);
      const life = { onLogLine: () => {}, file };
      const running = await startPipeline(orders, { ...settings, manifests }, life);
      await ingest(s3, name, running);
      await running.drain();

      const [started = ""] = readdirSync(join(manifests, running.runId)); // One per UTC day.
      const path = join(manifests, running.runId, started, "run_manifest.json");
      expect(existsSync(path)).toBe(true);
      const manifest = JSON.parse(readFileSync(path, "utf8")) as RunManifest;
      expect(manifest).toMatchObject({
        run: { id: running.runId, kind: "live", day: started, file },
        seeds: { pipeline: "7" },
        parameters: { vat: 2 },
        outputs: [{ name: "orders", rows: 5 }],
      });
      expect(manifest.inputs.every(({ versionId }) => versionId !== null)).toBe(true);
      expect(digestOfManifest(manifest)).toBe(manifest.digest);

      const reproduce = () => reproduced(path, ledger, home);
      const same = "identical: 3 records have the same results; live tables were not read\n";
      expect(await reproduce()).toMatchObject({ code: 0, out: same });
      writeFileSync(file, sourceOf(name, FROM_CONTEXT, 9)); // Other code, and another parameter.
      const replaced = "  the file has other parameters; those of the manifest were used\n";
      expect(await reproduce()).toMatchObject({ code: 0, out: `${same}${replaced}` });
      writeFileSync(file, sourceOf(name, "String(Math.random())"));
      const { code, out } = await reproduce();
      expect(code).toBe(1);
      expect(out).toMatch(/^different: 3 of 3 .*\n {2}first: s3:.*\n {2}other digest: code\n/);
      expect(out).toContain(
        `the handler calls Math.random() at ${file}:12; use its context instead`,
      );

      expect((await replayHashes(name, ledger)).size).toBe(1);

      // To a bucket, by the next life, which also writes what the first left out there.
      const bucket = { ...settings, manifests: `s3://${name}/runs` };
      await (await startPipeline(orders, bucket, life)).drain();
      const key = `runs/${running.runId}/${started}/run_manifest.json`;
      const stored = await s3.getObject({ Bucket: name, Key: key });
      expect(await stored.Body?.transformToString()).toBe(readFileSync(path, "utf8"));
      s3.destroy();
    },
    120_000,
  );
});
