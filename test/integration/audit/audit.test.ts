// Audit: bucket, ledger and sink of a running pipeline compared, on the embedded cloud, and on
// DynamoDB Local with moto.

import { generateKeyPairSync } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { S3 } from "@aws-sdk/client-s3";
import { SQS } from "@aws-sdk/client-sqs";
import { Ajv2020 } from "ajv/dist/2020.js";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { objects } from "../../../src/api/aws/s3.ts";
import { listAudits } from "../../../src/audit/audit-log.ts";
import { startCloud } from "../../../src/cloud/start-cloud.ts";
import { seconds } from "../../../src/core/units.ts";
import { tables } from "../../../src/index.ts";
import { pipeline } from "../../../src/ingest/spec/define-pipeline.ts";
import { SILENT } from "../../../src/ingest/telemetry/silent-telemetry.ts";
import {
  readSigningKey,
  readStatement,
  signStatement,
  verifyStatement,
  writeStatement,
} from "../../../src/operate/audits/statement-file.ts";
import { systemPorts } from "../../../src/platform/index.ts";
import type { RunSettings } from "../../../src/run/config.ts";
import { openLedger } from "../../../src/run/open/open-ledger.ts";
import { prepareRun } from "../../../src/run/prepare-run.ts";
import { startPipeline } from "../../../src/run/start-pipeline.ts";
import { startScheduledAudits } from "../../../src/run/upkeep/scheduled-audits.ts";
import { useForeignServer } from "../../support/foreign/foreign-servers.ts";
import { isFullSize } from "../../support/full-size.ts";
import { type AuditCall, audit, repair } from "../../support/operated.ts";
import { createS3Client } from "../../support/s3-buckets.ts";
import { queryPostgres, useDynamo, usePostgres } from "../../support/stores/database-servers.ts";
import { useTemporaryFolder } from "../../support/temporary-folder.ts";

const SCHEMA = new URL(
  "../../../docs/reference/schemas/audit-statement.schema.json",
  import.meta.url,
);
const folder = useTemporaryFolder("audit");
const moto = isFullSize ? await useForeignServer("moto") : null;
const dynamo = isFullSize ? await useDynamo() : null;
const postgres = await usePostgres();
const quiet = { onLogLine: () => {}, onError: () => {} };
const credentials = { accessKeyId: "any", secretAccessKey: "any" };
/** Nothing of a test is older than the default grace period. */
const NOW: AuditCall = { graceMs: 0 };
let cloud: Awaited<ReturnType<typeof startCloud>>;
let names = 0;

beforeAll(async () => {
  cloud = await startCloud({ port: 0 });
});
afterAll(() => cloud.close());

interface Place {
  readonly s3: S3;
  readonly bucket: string;
  readonly settings: RunSettings & { readonly ledger: string };
  readonly lines: ReturnType<typeof pipeline>;
  put(key: string, body: string): Promise<unknown>;
  /** Announces every later change of the bucket, or none. */
  notify(on?: boolean, suffix?: string): Promise<void>;
  /** Runs the pipeline until it has committed that many rows in all. */
  run(until: () => boolean): Promise<void>;
  readonly handled: string[];
}

async function placeOn(
  endpoint: string,
  more: { readonly ledger?: string; readonly tablesDatabase?: string } = {},
): Promise<Place> {
  names += 1;
  const bucket = `audit-${names}`;
  const s3 = createS3Client(endpoint);
  const sqs = new SQS({ endpoint, region: "us-east-1", credentials });
  await s3.createBucket({ Bucket: bucket });
  const { QueueUrl = "" } = await sqs.createQueue({ QueueName: `${bucket}-events` });
  const attributes = await sqs.getQueueAttributes({ QueueUrl, AttributeNames: ["QueueArn"] });
  const QueueArn = String(attributes.Attributes?.QueueArn);
  const handled: string[] = [];
  const lines = pipeline({
    name: bucket,
    source: { bucket, queue: `${bucket}-events` },
    visibilityMs: seconds(10),
    sink: tables({ lines: { columns: { id: "text", body: "text" }, key: ["id"] } }),
    async handler(event, { upsert }) {
      upsert("lines", { id: event.object.key, body: await event.text() });
      handled.push(event.object.key);
    },
  });
  const ledger = `sqlite:${join(folder, `${bucket}.db`)}`;
  const settings = { endpoint, ledger, metricsPort: 0, logLevel: "error", ...more } as const;
  return {
    s3,
    bucket,
    handled,
    lines,
    settings,
    put: (Key, Body) => s3.putObject({ Bucket: bucket, Key, Body }),
    async notify(on = true, suffix = "") {
      const rules = [{ Name: "suffix" as const, Value: suffix }];
      const filter = suffix === "" ? {} : { Filter: { Key: { FilterRules: rules } } };
      const configuration = { QueueArn, Events: ["s3:ObjectCreated:*" as const], ...filter };
      await s3.putBucketNotificationConfiguration({
        Bucket: bucket,
        NotificationConfiguration: on ? { QueueConfigurations: [configuration] } : {},
        SkipDestinationValidation: true,
      });
    },
    run: (until) => runUntil(lines, settings, until),
  };
}

async function runUntil(
  given: Place["lines"],
  settings: RunSettings,
  until: () => boolean,
): Promise<void> {
  const running = await startPipeline(given, settings, quiet);
  await expect.poll(until).toBe(true);
  await running.idle();
  await running.stop();
}

/** Three objects arrive, and the event of a fourth never does. */
async function ingestThreeOfFour(world: Place): Promise<void> {
  await world.notify();
  for (const key of ["in/a", "in/b", "in/ü"]) await world.put(key, key);
  await world.run(() => world.handled.length >= 3);
  await world.notify(false);
  await world.put("in/lost", "never notified");
}

/** The window must end after the last write, whose time S3 may round to the next second. */
async function settled({ s3, bucket }: Place): Promise<AuditCall> {
  const { Contents = [] } = await s3.listObjectsV2({ Bucket: bucket });
  const newest = Math.max(...Contents.map(({ LastModified }) => LastModified?.getTime() ?? 0));
  await expect.poll(() => Date.now() > newest, { interval: 5 }).toBe(true);
  return NOW;
}

async function findsAndRepairs(world: Place): Promise<void> {
  await ingestThreeOfFour(world);
  const call = await settled(world);
  const broken = await audit(world.lines, world.settings, call);
  expect(broken).toMatchObject({
    verdict: "incomplete",
    counts: { committed: 3, missing: 1, orphan: 0, double: 0, unknown: 0 },
    exceptions: [{ key: "in/lost", status: "missing" }],
    sink: { checked: true, what: "table lines" },
  });
  expect(await repair(world.lines, world.settings, broken, quiet)).toBe(1);
  const complete = await audit(world.lines, world.settings, { ...call, previous: broken });
  expect(complete).toMatchObject({ verdict: "complete", counts: { committed: 4, missing: 0 } });
  expect(complete.previous?.resolved.map(({ key }) => key)).toEqual(["in/lost"]);
  const again = await audit(world.lines, world.settings, { ...call, previous: complete });
  expect(again.previous).toMatchObject({ unchanged: true, chain: complete.chain });
}

describe("on the embedded cloud", () => {
  test("an audit finds the object whose event never came, and a repair ingests it", async () => {
    const world = await placeOn(cloud.endpoint);
    await findsAndRepairs(world);
    const ledger = await openLedger(world.settings.ledger, systemPorts, { readOnly: true });
    const audits = await listAudits(ledger, { pipeline: world.bucket, generation: 0 }, 10);
    await ledger.close();
    expect(audits.map(({ verdict }) => verdict)).toEqual(["complete", "complete", "incomplete"]);
  });

  test("an object whose event is still queued is waiting, not missing", async () => {
    const world = await placeOn(cloud.endpoint);
    await ingestThreeOfFour(world);
    await world.notify();
    await world.put("in/queued", "later");
    const { counts, queue } = await audit(world.lines, world.settings, await settled(world));
    expect(counts).toMatchObject({ committed: 3, missing: 1, waiting: 1 });
    expect(queue).toEqual({ read: "exact", messages: 1 });
  });

  test("rows that someone deleted from the register, or added to it, are found", async () => {
    const world = await placeOn(cloud.endpoint);
    await ingestThreeOfFour(world);
    const db = new DatabaseSync(world.settings.ledger.slice("sqlite:".length));
    db.exec(`DELETE FROM tidegate_sink_writers WHERE object LIKE '%in/a'`);
    const columns = "table_name, object, sequencer, event_time, record_key, fence";
    const stray = `s3://${world.bucket}/in/stray`;
    db.prepare(
      `INSERT INTO tidegate_sink_writers (${columns}) VALUES (?, ?, '', ?, 'k1:00', ?)`,
    ).run("lines", stray, Date.now(), Date.now());
    db.close();
    const { exceptions } = await audit(world.lines, world.settings, await settled(world));
    expect(exceptions.map(({ key, status }) => `${key} ${status}`)).toEqual([
      "in/a missing",
      "in/lost missing",
      "in/stray orphan",
    ]);
  });

  test("a signed statement follows its schema, and an edited one or another key is rejected", async () => {
    const world = await placeOn(cloud.endpoint);
    await ingestThreeOfFour(world);
    const { privateKey, publicKey } = generateKeyPairSync("ed25519");
    const other = generateKeyPairSync("ed25519").publicKey;
    const paths = Object.fromEntries(
      ["key.pem", "pub.pem", "other.pem", "statement.json"].map((name) => [
        name,
        join(folder, name),
      ]),
    ) as Record<string, string>;
    const of = (name: string) => paths[name] ?? "";
    writeFileSync(of("key.pem"), privateKey.export({ type: "pkcs8", format: "pem" }));
    writeFileSync(of("pub.pem"), publicKey.export({ type: "spki", format: "pem" }));
    writeFileSync(of("other.pem"), other.export({ type: "spki", format: "pem" }));
    const statement = await audit(world.lines, world.settings, NOW);
    const signed = signStatement(statement, readSigningKey(of("key.pem")));
    const validate = new Ajv2020().compile(JSON.parse(readFileSync(SCHEMA, "utf8")));
    expect([validate(signed), validate.errors]).toEqual([true, null]);
    expect(validate({ ...signed, verdict: "fine" })).toBe(false);
    const path = of("statement.json");
    writeStatement(path, signed);
    const verified = (key: string) => verifyStatement(path, readStatement(path), of(key));
    expect(() => verified("pub.pem")).not.toThrow();
    expect(() => verified("other.pem")).toThrow("was signed with another key");
    expect(() => verified("statement.json")).toThrow("is not an Ed25519 public key");
    expect(() => readSigningKey(of("pub.pem"))).toThrow("is not an Ed25519 private key");
    writeFileSync(path, readFileSync(path, "utf8").replace('"missing": 1', '"missing": 0'));
    expect(() => verified("pub.pem")).toThrow("was edited: its content does not match its digest");
    writeFileSync(path, "{}");
    expect(() => readStatement(path)).toThrow("is not an audit statement");
  });

  test("a window that cannot be judged, and a bucket that does not exist, are rejected", async () => {
    const world = await placeOn(cloud.endpoint);
    await ingestThreeOfFour(world);
    const run = (call: AuditCall) => audit(world.lines, world.settings, { ...NOW, ...call });
    const now = Date.now();
    await expect(run({ from: now - 5, to: now - 10 })).rejects.toThrow("is not before the end");
    await expect(run({ from: now + 60_000 })).rejects.toThrow("is in the future; no object");
    await expect(run({ to: now + 60_000 })).rejects.toThrow("an audit judges the past");
    await expect(run({ prefix: "x/", bucket: "other" })).rejects.toThrow("is not the bucket");
    const empty = await run({ from: now - 20, to: now - 10, prefix: "in/none" });
    expect(empty).toMatchObject({ verdict: "complete", segments: [] });
    const previous = await run({});
    await expect(run({ previous, prefix: "in/" })).rejects.toThrow("about prefix");
    const { name, handler } = world.lines;
    const source = { bucket: "no-such-bucket", queue: `${world.bucket}-events` };
    const elsewhere = pipeline({ name, source, handler });
    await expect(audit(elsewhere, world.settings, NOW)).rejects.toThrow("NoSuchBucket");
    const masked = pipeline({
      name,
      source: { bucket: world.bucket, queue: `${world.bucket}-events` },
      mask: ["object.key"],
      handler,
    });
    await expect(audit(masked, world.settings, NOW)).rejects.toThrow("masks the keys");
  });

  test("objects() is not checked, and its bucket and ledger are", async () => {
    const world = await placeOn(cloud.endpoint);
    const target = `${world.bucket}-out`;
    await world.s3.createBucket({ Bucket: target });
    const { name } = world.lines;
    const source = { bucket: world.bucket, queue: `${world.bucket}-events` };
    const copies = pipeline({
      name,
      source,
      sink: objects({ client: world.s3, bucket: target }),
      async handler(event, { emit }) {
        emit({ key: event.object.key, body: await event.text() });
        world.handled.push(event.object.key);
      },
    });
    await ingestThreeOfFour({ ...world, run: (until) => runUntil(copies, world.settings, until) });
    const statement = await audit(copies, world.settings, await settled(world));
    expect(statement.sink).toEqual({ checked: false, what: "a sink function cannot be listed" });
    expect(statement.counts).toMatchObject({ committed: 3, missing: 1, orphan: 0 });
    expect(statement.exceptions.map(({ key }) => key)).toEqual(["in/lost"]);
  });

  test("a key that the suffix of the notification ignores is ignored, and a repair leaves it", async () => {
    const world = await placeOn(cloud.endpoint);
    await world.notify(true, ".csv");
    for (const key of ["in/a.csv", "in/b.txt"]) await world.put(key, key);
    await world.run(() => world.handled.length >= 1);
    await world.notify(false);
    await world.put("in/lost.csv", "never notified");
    const call = { ...(await settled(world)), prefix: "in/", suffix: ".csv" };
    const broken = await audit(world.lines, world.settings, call);
    expect(broken.counts).toMatchObject({ committed: 1, ignored: 1, missing: 1 });
    expect(broken.subject).toMatchObject({ prefix: "in/", suffix: ".csv" });
    expect(await repair(world.lines, world.settings, broken, quiet)).toBe(1);
    const { verdict, counts } = await audit(world.lines, world.settings, call);
    expect([verdict, counts.committed, counts.ignored]).toEqual(["complete", 2, 1]);
    const other = audit(world.lines, world.settings, { ...call, suffix: ".txt", previous: broken });
    await expect(other).rejects.toThrow('about suffix ".csv", not ".txt"');
  });

  test("a scheduled audit ignores keys that the suffix of the notification ignores", async () => {
    const world = await placeOn(cloud.endpoint);
    await world.notify(true, ".csv");
    for (const key of ["in/a.csv", "in/b.txt"]) await world.put(key, key);
    await world.run(() => world.handled.length >= 1);
    await settled(world);
    const ledger = await openLedger(world.settings.ledger, systemPorts, {});
    const terms = { auditMinutes: 0.001, auditSuffix: ".csv" };
    const settings = { ...prepareRun("run", world.lines, world.settings).settings, ...terms };
    const server = { endpoint: cloud.endpoint, cloud: null };
    const ports = { ledger, telemetry: SILENT, server };
    const scheduled = startScheduledAudits(world.lines, settings, ports);
    const latest = () => listAudits(ledger, { pipeline: world.bucket, generation: 0 }, 1);
    await expect
      .poll(latest)
      .toMatchObject([
        { suffix: ".csv", counts: { committed: 1, ignored: 1, waiting: 0, missing: 0 } },
      ]);
    await scheduled?.close();
    await ledger.close();
  });

  test("a sink function is not checked, and the statement says so", async () => {
    const world = await placeOn(cloud.endpoint);
    await ingestThreeOfFour(world);
    const { name, handler } = world.lines;
    const source = { bucket: world.bucket, queue: `${world.bucket}-events` };
    const plain = pipeline({ name, source, sink: async () => {}, handler });
    const { sink, counts } = await audit(plain, world.settings, await settled(world));
    expect(sink).toEqual({ checked: false, what: "a sink function cannot be listed" });
    expect(counts).toMatchObject({ committed: 3, missing: 1 });
  });
});

describe.skipIf(!postgres.available)("with tables in PostgreSQL", () => {
  test("an audit finds what the register lacks, what it has too much, and what was never notified", async () => {
    const ledger = await postgres.freshUrl();
    const world = await placeOn(cloud.endpoint, { ledger });
    await findsAndRepairs(world);
    await queryPostgres(ledger, "DELETE FROM tidegate_sink_writers WHERE object LIKE '%in/a'");
    await queryPostgres(
      ledger,
      `INSERT INTO tidegate_sink_writers (table_name, object, sequencer, event_time, record_key, fence)
       VALUES ('lines', 's3://${world.bucket}/in/stray', '', ${Date.now()}, 'k1:00', ${Date.now()})`,
    );
    const { exceptions, sink } = await audit(world.lines, world.settings, await settled(world));
    expect(sink).toEqual({ checked: true, what: "table lines" });
    expect(exceptions.map(({ key, status }) => `${key} ${status}`)).toEqual([
      "in/a missing",
      "in/stray orphan",
    ]);
  });
});

describe.skipIf(moto === null || dynamo?.available !== true)("on moto and DynamoDB Local", () => {
  test("an audit finds the object whose event never came, and a repair ingests it", async () => {
    const ledger = `dynamodb://audit${Date.now()}?region=us-east-1&endpoint=${dynamo?.endpoint}`;
    const created = await openLedger(ledger, systemPorts, { listing: true });
    await created.close();
    const tablesDatabase = join(folder, `audit-${names + 1}-tables.db`);
    await findsAndRepairs(await placeOn(moto ?? "", { ledger, tablesDatabase }));
  });
});
