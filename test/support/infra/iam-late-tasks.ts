// IAM late tasks: what a pipeline with a late queue and a ledger with lists asks of AWS, and what a
// dispatcher of ECS tasks does.

import * as ecsSdk from "@aws-sdk/client-ecs";
import { PutObjectCommand, S3Client } from "@aws-sdk/client-s3";
import { GetQueueUrlCommand, SendMessageCommand, SQSClient } from "@aws-sdk/client-sqs";
import { expect } from "vitest";
import { createEcsLauncher } from "../../../src/adapters/task/ecs-launcher.ts";
import { durationMs } from "../../../src/core/units.ts";
import { pipeline } from "../../../src/index.ts";
import { planInfra } from "../../../src/infra/infra-plan.ts";
import { openOperator } from "../../../src/operate/open-operator.ts";
import { systemClock } from "../../../src/platform/system-clock.ts";
import { openAwsObjects } from "../../../src/run/open/aws-environment.ts";
import { startPipeline } from "../../../src/run/start-pipeline.ts";
import { eventually } from "../eventually.ts";
import type { IamWorld } from "./iam-world.ts";

const LOCAL = {
  region: "us-east-1",
  credentials: { accessKeyId: "local", secretAccessKey: "local" },
};

export const LATE_PLAN = planInfra(
  {
    name: "days",
    bucket: null,
    prefix: "",
    queue: "days",
    lateQueue: "days-late",
    archive: { bucket: "acme-archive", prefix: "messages/days/" },
    visibilityMs: 9_000,
    maxReceiveCount: { standard: 25, fifo: 1_000 },
  },
  { kms: true, listing: true, dispatch: true, outbox: false },
);

const days = pipeline({
  name: "days",
  source: { queue: "days", key: (body: { day: string }) => body.day },
  eventTime: {
    of: ({ body }) => `${(body as { day: string }).day}T00:00:00Z`,
    outOfOrderMs: 0,
    late: { queue: "days-late" },
  },
  archive: { bucket: "acme-archive" },
  visibilityMs: 9_000,
  sink: () => undefined,
  handler: () => undefined,
});

/** A late message, and the commands that list records. */
export async function runLate(world: IamWorld): Promise<void> {
  const admin = new SQSClient({ ...LOCAL, endpoint: world.cloud.endpoint });
  const { QueueUrl } = await admin.send(new GetQueueUrlCommand({ QueueName: "days" }));
  const send = (day: string) =>
    admin.send(new SendMessageCommand({ QueueUrl, MessageBody: JSON.stringify({ day }) }));
  const consumer = world.recorder("consumer");
  const settings = {
    endpoint: consumer.endpoint,
    region: "us-east-1",
    queue: "days",
    ledger: world.ledgerUrl("consumer"),
    metricsPort: 0,
  };
  await using running = await startPipeline(days, settings, { onLogLine: () => undefined });
  await send("2026-03-10");
  await eventually(() => expect(running.snapshot().watermark).toBe(Date.UTC(2026, 2, 10)));
  await send("2026-02-01");
  await eventually(() => {
    const sent = consumer.calls().filter(({ resource }) => resource.endsWith(":days-late"));
    expect(sent.map(({ action }) => action)).toContain("sqs:SendMessage");
  });
  await running.idle();
  await running.completeUpTo();
  admin.destroy();
  const operator = world.recorder("operator");
  const ledger = world.ledgerUrl("operator");
  for (const by of ["event-time", "commit-time", "object"]) {
    const words = ["records", "list", "--pipeline", "days", "--ledger", ledger, "--by", by];
    expect(await world.operate(...words)).toMatchObject({ code: 0 });
  }
  const { endpoint } = operator;
  const options = { pipeline: days, ledger, endpoint, queue: "days", region: "us-east-1" };
  await using open = openOperator(options);
  await open.completeness.read();
}

const NAME = "tg-0123456789abcdef";
const NEVER = new AbortController().signal;

/** A task that is adopted and ends with a result, one without a result, and one that is stopped. */
export async function dispatchTasks(world: IamWorld): Promise<void> {
  const { endpoint } = world.recorder("consumer");
  const client = new ecsSdk.ECSClient({ ...LOCAL, endpoint });
  const objects = await openAwsObjects({ endpoint, region: "us-east-1", cloud: null });
  const settings = {
    cluster: "jobs",
    taskDefinition: "download:7",
    container: "main",
    subnets: [],
    securityGroups: [],
    assignPublicIp: false,
    words: [],
    results: "s3://acme-results/days",
    pollMs: durationMs(10),
  };
  const launcher = () =>
    createEcsLauncher(ecsSdk, { clock: systemClock, client, objects }, settings);
  const start = async (name: string) => {
    const task = await launcher().start({ name, fence: 1, event: "{}", variables: {} });
    return { task, fake: world.ecs.tasks.at(-1) };
  };
  const admin = new S3Client({ ...LOCAL, endpoint: world.cloud.endpoint, forcePathStyle: true });
  const object = { Bucket: "acme-results", Key: `days/${NAME}/1.jsonl`, Body: '{"n":1}\n' };
  await admin.send(new PutObjectCommand(object));
  admin.destroy();

  const { fake: first } = await start(NAME);
  const adopted = await launcher().find(NAME, 2);
  if (first !== undefined) world.ecs.stop(first, 0);
  expect(await adopted?.wait(NEVER)).toEqual({ kind: "exited", code: 0 });
  expect(await countOf(adopted?.result())).toBe(1);
  await adopted?.forget();

  const { task: silent } = await start("tg-silent");
  await silent.stop("the lease is lost");
  await silent.wait(NEVER);
  expect(await countOf(silent.result())).toBe(0);
  client.destroy();
}

async function countOf(lines: AsyncIterable<unknown> | undefined): Promise<number> {
  let count = 0;
  for await (const _ of lines ?? []) count += 1;
  return count;
}
