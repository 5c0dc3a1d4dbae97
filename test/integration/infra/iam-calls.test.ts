// The IAM table and the AWS calls that are really made, by every role, under the policy that is
// generated for it: none is refused, and no line of the table could be left out.

import {
  DeleteObjectCommand,
  ListObjectsV2Command,
  PutBucketVersioningCommand,
  PutObjectCommand,
  S3Client,
} from "@aws-sdk/client-s3";
import { GetQueueUrlCommand, SendMessageCommand, SQSClient } from "@aws-sdk/client-sqs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createProducer, createRelay, fixedGroups } from "../../../src/api/produce.ts";
import { createS3Objects } from "../../../src/aws/s3/s3-objects.ts";
import { createSnsTopic } from "../../../src/aws/sns/sns-topic.ts";
import { openSqsQueue } from "../../../src/aws/sqs/open-sqs-queue.ts";
import { PermanentError, pipeline } from "../../../src/index.ts";
import { policiesOf } from "../../../src/infra/iam-policies.ts";
import { IAM_TABLE, type IamRow } from "../../../src/infra/iam-table.ts";
import { type PipelineFacts, planInfra } from "../../../src/infra/infra-plan.ts";
import { readLive } from "../../../src/operate/infra/read-live.ts";
import { startPipeline } from "../../../src/run/start-pipeline.ts";
import { eventually } from "../../support/eventually.ts";
import { isFullSize } from "../../support/full-size.ts";
import { isAllowed } from "../../support/infra/aws-recorder.ts";
import { runHistory, SALES_PLAN } from "../../support/infra/iam-history.ts";
import { dispatchTasks, LATE_PLAN, runLate } from "../../support/infra/iam-late-tasks.ts";
import {
  ARCHIVE_PLAN,
  backfillArchive,
  lookAtConsole,
  operateArchive,
} from "../../support/infra/iam-operator.ts";
import { IAM_ACCOUNT, type IamWorld, openIamWorld } from "../../support/infra/iam-world.ts";
import { useOwnDynamo } from "../../support/stores/database-servers.ts";

const FACTS: PipelineFacts = {
  name: "orders",
  bucket: "acme-orders",
  prefix: "in/",
  queue: null,
  visibilityMs: 9_000,
  maxReceiveCount: { standard: 25, fifo: 1_000 },
};
const MESSAGES = { ...FACTS, name: "bookings", bucket: null, prefix: "" };
const claimChecks = "acme-claims";
const PLANS = {
  bucket: planInfra(FACTS, { kms: true }),
  queue: planInfra({ ...MESSAGES, queue: "bookings" }, { kms: true, claimChecks }),
  topic: planInfra(
    { ...MESSAGES, name: "trips", queue: "trips.fifo" },
    { kms: true, via: "topic" },
  ),
  late: LATE_PLAN,
  archive: ARCHIVE_PLAN,
  sales: SALES_PLAN,
};

const dynamo = isFullSize ? await useOwnDynamo() : null;
const worlds = {} as Record<keyof typeof PLANS, IamWorld>;

describe.skipIf(dynamo?.available !== true)("roles under their generated policies", () => {
  beforeAll(async () => {
    for (const name of Object.keys(PLANS) as (keyof typeof PLANS)[]) {
      worlds[name] = await openIamWorld(PLANS[name], dynamo?.endpoint ?? "");
    }
  });

  afterAll(async () => {
    for (const world of Object.values(worlds)) await world[Symbol.asyncDispose]();
  });

  const expectNoneRefused = (world: IamWorld) => {
    const refused = (["consumer", "producer", "operator"] as const).flatMap((role) =>
      world
        .recorder(role)
        .refused()
        .map((call) => `${role} ${call.action} ${call.resource}`),
    );
    expect(refused).toEqual([]);
  };

  test("a bucket pipeline is fed, consumed and operated", async () => {
    const world = worlds.bucket;
    await uploadFiles(world);
    await consumeFiles(world);
    await operate(world, "in/dropped.csv");
    expectNoneRefused(world);
  });

  test("messages are sent to a queue and a topic, with claim checks, consumed, halted and redriven", async () => {
    await produce(worlds.queue);
    await produce(worlds.topic);
    await consumeMessages(worlds.queue);
    await consumeKeyless(worlds.queue);
    await consumeHalting(worlds.topic);
    for (const world of [worlds.queue, worlds.topic]) {
      await readLive(world.plan, liveOptions(world));
      expectNoneRefused(world);
    }
  });

  test("late messages go to a queue, records are listed, and tasks are dispatched", async () => {
    const world = worlds.late;
    await runLate(world);
    await dispatchTasks(world);
    await readLive(world.plan, liveOptions(world));
    expectNoneRefused(world);
  });

  test("a bucket is backfilled, and its pipeline is paused, released and looked at", async () => {
    const world = worlds.archive;
    await backfillArchive(world);
    await operateArchive(world);
    await lookAtConsole(world);
    expectNoneRefused(world);
  });

  test("a bucket is read by a function, audited, repaired, backfilled, replayed and promoted", async () => {
    await runHistory(worlds.sales);
    expectNoneRefused(worlds.sales);
  });

  /** The table without one resource of one row. */
  const without = (row: IamRow, resource: string): IamRow[] =>
    IAM_TABLE.map((other) => {
      if (other !== row) return other;
      return { ...row, resources: row.resources.filter((name) => name !== resource) };
    });

  test.each(
    IAM_TABLE.flatMap((row) =>
      row.resources.map((resource) => [row.role, row.action, resource, row] as const),
    ),
  )("a %s without %s on the %s is refused a call that it makes", (role, _action, resource, row) => {
    const broken = Object.values(worlds).some((world) => {
      const policy = policiesOf(world.plan, IAM_ACCOUNT, without(row, resource))[role];
      const text = JSON.stringify(policy ?? {});
      return world
        .recorder(role)
        .calls()
        .some((call) => !isAllowed(text, call));
    });
    expect(broken).toBe(true);
  });
});

const LOCAL = {
  region: "us-east-1",
  credentials: { accessKeyId: "local", secretAccessKey: "local" },
};

/** A client of the test itself, without a role. */
function bareS3(world: IamWorld): S3Client {
  return new S3Client({ ...LOCAL, endpoint: world.cloud.endpoint, forcePathStyle: true });
}

const FILES = ["ok", "retry", "poison", "dropped", "slow", "missing", "plain"];

async function uploadFiles(world: IamWorld): Promise<void> {
  const { s3 } = world.clients("producer");
  for (const name of FILES) {
    const Key = `in/${name}.csv`;
    if (name === "plain") await suspendVersioning(world); // Its event names no version.
    const { VersionId } = await s3.send(
      new PutObjectCommand({ Bucket: "acme-orders", Key, Body: "id\n1\n" }),
    );
    if (name === "missing") {
      const admin = bareS3(world);
      await admin.send(new DeleteObjectCommand({ Bucket: "acme-orders", Key, VersionId }));
      admin.destroy();
    }
  }
}

async function suspendVersioning(world: IamWorld): Promise<void> {
  const admin = bareS3(world);
  const VersioningConfiguration = { Status: "Suspended" as const };
  await admin.send(
    new PutBucketVersioningCommand({ Bucket: "acme-orders", VersioningConfiguration }),
  );
  admin.destroy();
}

const silent = { onLogLine: () => undefined };

function settingsOf(world: IamWorld) {
  return {
    endpoint: world.recorder("consumer").endpoint,
    region: "us-east-1",
    queue: world.plan.queue,
    ledger: world.ledgerUrl("consumer"),
    metricsPort: 0,
  };
}

const countOf = (world: IamWorld, action: string) =>
  world
    .recorder("consumer")
    .calls()
    .filter((call) => call.action === action).length;

async function consumeFiles(world: IamWorld): Promise<void> {
  const tried = new Set<string>();
  let isFixed = false;
  const orders = pipeline({
    name: "orders",
    source: { bucket: "acme-orders", prefix: "in/" },
    retry: { attempts: 20, baseMs: 1 }, // A busy machine may lose leases.
    visibilityMs: 9_000,
    onMissing: "drop",
    eventTime: {
      async of({ object, tags }) {
        if (/ok|plain/.test(object.key)) await tags();
        return null;
      },
    },
    sink: () => undefined,
    async handler(file, { emit }) {
      const { key } = file.object;
      const isFirst = !tried.has(key);
      tried.add(key);
      emit(await file.text());
      const isPoison = key === "in/dropped.csv" || (key === "in/poison.csv" && !isFixed);
      if (isPoison) throw new PermanentError("poison");
      if (key === "in/retry.csv" && isFirst) throw new Error("once more");
      if (key === "in/slow.csv") {
        await eventually(() => {
          expect(countOf(world, "sqs:ChangeMessageVisibility")).toBeGreaterThan(0);
          expect(countOf(world, "dynamodb:UpdateItem")).toBeGreaterThan(0);
        });
      }
    },
  });
  await using running = await startPipeline(orders, settingsOf(world), silent);
  await running.idle();
  expect(await running.deadLetterDepth()).toBe(2);
  isFixed = true;
  await redrive(world, "orders", "--key", "in/poison.csv");
  await running.idle();
}

/** The pipeline has to run: the command follows each dead letter to its outcome. */
async function redrive(world: IamWorld, name: string, ...filter: string[]): Promise<void> {
  const words = ["--pipeline", name, "--ledger", world.ledgerUrl("operator"), ...filter];
  const queues = ["--endpoint", world.recorder("operator").endpoint, "--queue", world.plan.queue];
  expect(await world.operate("dlq", "redrive", ...words, ...queues)).toMatchObject({ code: 0 });
}

async function operate(world: IamWorld, key: string): Promise<void> {
  const endpoint = world.recorder("operator").endpoint;
  const url = world.ledgerUrl("operator");
  const location = ["--pipeline", "orders", "--ledger", url];
  const queues = ["--endpoint", endpoint, "--queue", world.plan.queue];
  const done = { code: 0 };
  expect(await world.operate("dlq", "list", ...location, ...queues, "--peek")).toMatchObject(done);
  expect(await world.operate("dlq", "show", key, ...location)).toMatchObject(done);
  const drop = ["dlq", "drop", ...location, ...queues, "--key", "in/dropped.csv", "--yes"];
  expect(await world.operate(...drop)).toMatchObject(done);
  const why = ["why", "s3://acme-orders/in/ok.csv", ...location];
  expect(await world.operate(...why)).toMatchObject(done);
  for (const command of ["check", "stats", "purge"]) {
    expect(await world.operate("ledger", command, "--ledger", url)).toMatchObject(done);
  }
  await readLive(world.plan, liveOptions(world));
}

function liveOptions(world: IamWorld) {
  const { endpoint } = world.recorder("operator");
  return { endpoint, dynamoEndpoint: endpoint, region: "us-east-1" };
}

async function produce(world: IamWorld): Promise<void> {
  const { plan } = world;
  const { sqs, sns, s3 } = world.clients("producer");
  const topicArn = `arn:aws:sns:us-east-1:000000000000:${plan.topic}`;
  const target =
    plan.topic === null
      ? await openSqsQueue({ client: sqs, queue: plan.queue })
      : createSnsTopic({ client: sns, topicArn });
  const outbox = await world.outbox("producer");
  const claimed = plan.claimCheckBucket !== null;
  const producer = createProducer(
    { target, outbox, ...(claimed && { objects: createS3Objects({ client: s3 }) }) },
    { groups: fixedGroups(1), ...(claimed && { claimCheck: { bucket: claimChecks } }) },
  );
  const event = (n: number, text = "x") => ({
    source: "acme.tests.iam",
    dedupeKey: `event-${n}`,
    eventTime: "2026-01-01T00:00:00Z",
    payload: { text },
  });
  for (const n of [1, 2, 3]) expect(await producer.send(event(n))).toMatchObject({ kind: "sent" });
  expect(await producer.send(event(1))).toMatchObject({ kind: "already-sent" });
  if (claimed) for (const n of [4, 5]) await producer.send(event(n, "y".repeat(1_100_000)));
  await producer.close();
  expect(await createRelay({ target, outbox }).drain()).toMatchObject({ failed: null });
  const items = [{ name: "event-1", key: "event-1" }];
  const id = "day-1";
  const input = { name: "day", id, itemCount: 1, digest: "d".repeat(64), replace: false };
  expect(await outbox.openBatch(plan.queue, input)).toMatchObject({ kind: "opened" });
  await outbox.addBatchItems(id, items);
  await outbox.sealBatch(plan.queue, "day", id);
  await outbox.markItemsDone(id, items);
  expect(await outbox.countDoneItems(id)).toBe(1);
  await outbox.completeBatch(plan.queue, "day", id);
  await outbox.close();
}

async function consumeMessages(world: IamWorld): Promise<void> {
  const keys = new Set<string>();
  // The payload of one of the two claim checks is gone.
  const admin = bareS3(world);
  const { Contents = [] } = await admin.send(new ListObjectsV2Command({ Bucket: claimChecks }));
  await admin.send(new DeleteObjectCommand({ Bucket: claimChecks, Key: Contents[0]?.Key }));
  admin.destroy();
  const bookings = pipeline({
    name: "bookings",
    source: { queue: "bookings" },
    lease: "receipt", // Reads the ledger in batches before a first delivery.
    visibilityMs: 9_000,
    onMissing: "drop",
    handler: ({ envelope }) => void keys.add(envelope.dedupe_key),
  });
  await using running = await startPipeline(bookings, settingsOf(world), silent);
  await running.idle();
  expect(keys.size).toBe(4);
}

/** A message without a key, and its redrive after the pipeline was fixed. */
async function consumeKeyless(world: IamWorld): Promise<void> {
  const keys: string[] = [];
  const own = (key: (body: unknown) => string | undefined) =>
    pipeline({
      name: "own",
      source: { queue: "bookings", key: key as (body: unknown) => string },
      retry: { attempts: 1 },
      visibilityMs: 9_000,
      sink: () => undefined,
      handler: ({ key: handled }) => void keys.push(handled),
    });
  const admin = new SQSClient({ ...LOCAL, endpoint: world.cloud.endpoint });
  const { QueueUrl } = await admin.send(new GetQueueUrlCommand({ QueueName: "bookings" }));
  await admin.send(new SendMessageCommand({ QueueUrl, MessageBody: '{"number":7}' }));
  admin.destroy();
  {
    await using broken = await startPipeline(
      own(() => undefined),
      settingsOf(world),
      silent,
    );
    await broken.idle();
  }
  await using fixed = await startPipeline(
    own(() => "seven"),
    settingsOf(world),
    silent,
  );
  await redrive(world, "own");
  await fixed.idle();
  expect(keys).toEqual(["seven"]);
}

/** A FIFO group that halts behind a dead letter until an operator redrives it. */
async function consumeHalting(world: IamWorld): Promise<void> {
  const keys: string[] = [];
  let isFixed = false;
  const trips = pipeline({
    name: "trips",
    source: { queue: "trips.fifo" },
    visibilityMs: 9_000,
    sink: () => undefined,
    handler({ envelope }) {
      if (!isFixed) throw new PermanentError("halt");
      keys.push(envelope.dedupe_key);
    },
  });
  await using running = await startPipeline(trips, settingsOf(world), silent);
  const list = ["dlq", "list", "--pipeline", "trips", "--ledger", world.ledgerUrl("operator")];
  await eventually(async () => {
    expect((await world.operate(...list)).text).toContain("halt");
  });
  isFixed = true;
  await redrive(world, "trips");
  await running.idle();
  expect(keys).toEqual(["event-1", "event-2", "event-3"]);
}
