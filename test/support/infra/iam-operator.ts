// IAM operator: a backfill with the role of the consumer, and every command that an operator may
// run on a bucket pipeline with a ledger that lists.

import { PutObjectCommand, S3Client } from "@aws-sdk/client-s3";
import { expect } from "vitest";
import { startConsole } from "../../../src/console/start-console.ts";
import { pipeline } from "../../../src/index.ts";
import type { IamRole } from "../../../src/infra/iam-table.ts";
import { planInfra } from "../../../src/infra/infra-plan.ts";
import { startPipeline } from "../../../src/run/start-pipeline.ts";
import { backfill } from "../operated.ts";
import type { IamWorld } from "./iam-world.ts";

const BUCKET = "acme-archive";
const URI = `s3://${BUCKET}/in/2.csv`;

export const ARCHIVE_PLAN = planInfra(
  {
    name: "archive",
    bucket: BUCKET,
    prefix: "in/",
    queue: null,
    visibilityMs: 9_000,
    maxReceiveCount: { standard: 25, fifo: 1_000 },
  },
  { kms: true, listing: true, backfill: true },
);

/** Objects of an event time that is too late for the second are held. */
const archive = pipeline({
  name: "archive",
  source: { bucket: BUCKET, prefix: "in/" },
  visibilityMs: 9_000,
  eventTime: {
    of: ({ object }) =>
      object.key === "in/3.csv" ? "2026-01-01T00:00:00Z" : "2026-03-10T00:00:00Z",
    outOfOrderMs: 0,
    late: "hold",
  },
  sink: () => undefined,
  async handler(file, { emit }) {
    emit(await file.text());
  },
});

const silent = { onLogLine: () => undefined };

function settingsOf(world: IamWorld, role: IamRole) {
  return {
    endpoint: world.recorder(role).endpoint,
    region: "us-east-1",
    queue: world.plan.queue,
    ledger: world.ledgerUrl(role),
    metricsPort: 0,
  };
}

async function put(world: IamWorld, key: string): Promise<void> {
  const credentials = { accessKeyId: "local", secretAccessKey: "local" };
  const { endpoint } = world.cloud;
  const s3 = new S3Client({ region: "us-east-1", credentials, endpoint, forcePathStyle: true });
  await s3.send(new PutObjectCommand({ Bucket: BUCKET, Key: key, Body: "id\n1\n" }));
  s3.destroy();
}

/** The operator counts, the consumer takes the object in, and finds its event to be a duplicate. */
export async function backfillArchive(world: IamWorld): Promise<void> {
  await put(world, "in/1.csv");
  const counted = await backfill(archive, settingsOf(world, "operator"), { dryRun: true });
  expect(counted).toMatchObject({ done: 1 });
  const done = await backfill(archive, settingsOf(world, "consumer"), silent);
  expect(done).toMatchObject({ done: 1, unfinished: 0 });
  await using running = await startPipeline(archive, settingsOf(world, "consumer"), silent);
  await put(world, "in/2.csv");
  await running.idle();
  await put(world, "in/3.csv");
  await running.idle();
}

/** Commands that read or change a pipeline, each of which has to succeed. */
export async function operateArchive(world: IamWorld): Promise<void> {
  const ledger = ["--ledger", world.ledgerUrl("operator")];
  const named = ["--pipeline", "archive", ...ledger];
  const { endpoint } = world.recorder("operator");
  const queues = ["--endpoint", endpoint, "--queue", world.plan.queue];
  const commands = [
    ["late", "list", ...named],
    ["late", "release", "--all", ...named, ...queues],
    ["records", "list", ...named],
    ["runs", "list", ...ledger],
    ["lineage", URI, ...named],
    ["pipeline", "pause", "archive", ...ledger],
    ["pipeline", "status", "archive", ...ledger],
    ["pipeline", "resume", "archive", ...ledger],
    ["quarantine", "list", ...named],
    ["why", URI, ...named],
  ];
  for (const words of commands) {
    const { code, text } = await world.operate(...words);
    expect([words.slice(0, 2).join(" "), code, text]).toEqual([expect.anything(), 0, text]);
  }
  const retried = await world.operate("retry", URI, ...named);
  expect(retried.text).toContain("committed; nothing to do");
}

const VIEWS = [
  "flow",
  "queues",
  `queues/${ARCHIVE_PLAN.queue}`,
  "records",
  "dead-letters",
  "time",
  "runs",
  "setup-check",
];

/** Every view of the console of a pipeline on AWS. */
export async function lookAtConsole(world: IamWorld): Promise<void> {
  const errors: unknown[] = [];
  const opened = await startConsole({
    ...settingsOf(world, "operator"),
    pipeline: archive,
    port: 0,
    host: "127.0.0.1",
    onError: (error) => errors.push(error),
  });
  try {
    for (const view of VIEWS) {
      const answer = await fetch(`${opened.origin}/_tidegate/api/v1/${view}`);
      expect([view, answer.status, await answer.text()]).toEqual([view, 200, expect.anything()]);
    }
  } finally {
    await opened.close();
  }
  expect(errors).toEqual([]);
}
