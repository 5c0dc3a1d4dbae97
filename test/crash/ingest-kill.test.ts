// Kills a consumer at every named point, lets a fresh one drain the queue, and checks the rows.
// TIDEGATE_KILL_WAYS=all runs every point on every path, as CI does; otherwise the listed ones.

import {
  CreateBucketCommand,
  PutBucketNotificationConfigurationCommand,
  PutObjectCommand,
} from "@aws-sdk/client-s3";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { IngestWorld, readLedger, type Stream } from "../support/crash/ingest-world.ts";
import { openNotebook } from "./ingest-notebook-sink.ts";
import { INGEST_POINTS, type IngestPoint } from "./ingest-points.ts";
import { PARTS, type WorkerConfig } from "./ingest-worker.ts";

const world = new IngestWorld();
beforeAll(() => world.up());
afterAll(() => world[Symbol.asyncDispose]());

const ROWS = Array.from({ length: PARTS }, (_, part) => ({ n: 1, part }));
const FUNCTION_POINTS: ReadonlySet<IngestPoint> = new Set(["applying", "applied"]);
const CLAIM_POINTS: ReadonlySet<IngestPoint> = new Set(["claiming", "claimed"]);
const ORDER: readonly IngestPoint[] = INGEST_POINTS;
/** A record at this point is committed, or may be: a second delivery is then a duplicate. */
const FIRST_COMMITTED = ORDER.indexOf("after-sqlite-commit");

interface Way {
  /** The points at which it also runs outside CI. */
  readonly always?: readonly IngestPoint[];
  readonly title: string;
  readonly fifo: boolean;
  readonly contents: WorkerConfig["contents"];
  readonly lease: WorkerConfig["lease"];
  /** Default: "run". */
  readonly host?: WorkerConfig["host"];
  readonly sink: WorkerConfig["sink"];
}

const ALL_WAYS: readonly Way[] = [
  {
    title: "object",
    always: ["claimed", "in-transaction", "after-sqlite-commit", "deleting"],
    fifo: false,
    contents: "objects",
    lease: "receipt",
    sink: "table",
  },
  { title: "object-claimed", fifo: false, contents: "objects", lease: "ledger", sink: "table" },
  { title: "message", fifo: false, contents: "messages", lease: "ledger", sink: "table" },
  { title: "fifo", fifo: true, contents: "messages", lease: "receipt", sink: "table" },
  {
    title: "fifo-claimed",
    always: ["decoded", "handled", "before-sqlite-commit", "committed"],
    fifo: true,
    contents: "messages",
    lease: "ledger",
    sink: "table",
  },
  {
    title: "lambda",
    always: ["before-sqlite-commit", "deleted"],
    fifo: false,
    contents: "messages",
    lease: "ledger",
    sink: "table",
    host: "lambda",
  },
  {
    title: "task",
    always: ["in-handler", "deleting"],
    fifo: false,
    contents: "messages",
    lease: "ledger",
    sink: "table",
    host: "task",
  },
  {
    title: "task-fifo",
    fifo: true,
    contents: "messages",
    lease: "ledger",
    sink: "table",
    host: "task",
  },
  {
    title: "lambda-fifo",
    fifo: true,
    contents: "messages",
    lease: "receipt",
    sink: "table",
    host: "lambda",
  },
  {
    title: "lambda-object",
    fifo: false,
    contents: "objects",
    lease: "receipt",
    sink: "table",
    host: "lambda",
  },
  { title: "function", fifo: false, contents: "messages", lease: "ledger", sink: "function" },
  {
    title: "lambda-function",
    fifo: false,
    contents: "messages",
    lease: "ledger",
    sink: "function",
    host: "lambda",
  },
  {
    title: "task-function",
    fifo: false,
    contents: "messages",
    lease: "ledger",
    sink: "function",
    host: "task",
  },
];
const ALL = process.env.TIDEGATE_KILL_WAYS === "all";

function pointsOf({ sink, always = [] }: Way): readonly IngestPoint[] {
  if (!ALL) return always;
  if (sink === "table") return INGEST_POINTS.filter((point) => !FUNCTION_POINTS.has(point));
  return INGEST_POINTS.filter((point) => point !== "in-transaction");
}

/** The points at which one process after the other is killed. */
function killsOf({ lease }: Way, point: IngestPoint): IngestPoint[] {
  if (lease !== "receipt") return [point];
  // A receipt is enough for the first delivery; the second is claimed.
  if (CLAIM_POINTS.has(point)) return ["received", point];
  return ORDER.indexOf(point) < FIRST_COMMITTED ? [point, point] : [point];
}

async function feed(stream: Stream, { contents, title }: Way): Promise<void> {
  if (contents === "messages") return void (await world.send(stream, 1));
  const client = world.s3();
  const Bucket = `bucket-${stream.name}`;
  await client.send(new CreateBucketCommand({ Bucket }));
  const QueueConfigurations = [{ QueueArn: stream.arn, Events: ["s3:ObjectCreated:*" as const] }];
  const NotificationConfiguration = { QueueConfigurations };
  await client.send(
    new PutBucketNotificationConfigurationCommand({
      Bucket,
      NotificationConfiguration,
      SkipDestinationValidation: true,
    }),
  );
  const Body = ["n,part", ...ROWS.map(({ n, part }) => `${n},${part}`)].join("\n");
  await client.send(new PutObjectCommand({ Bucket, Key: `${title}.csv`, Body }));
  client.destroy();
}

/** Every row exists once, from one commit, and the ledger has no other records. */
function check(stream: Stream, { sink }: Way): void {
  const { readings, commits, records } = readLedger(stream, sink);
  expect(records).toMatchObject([{ state: "committed" }]);
  if (sink === "table") {
    expect(readings.map(({ n, part }) => ({ n, part }))).toEqual(ROWS);
    expect(new Set(readings.map(({ owner }) => owner)).size).toBe(1);
    expect(commits).toMatchObject([{ owner: readings[0]?.owner, fence: records[0]?.fence }]);
    return;
  }
  using db = openNotebook(`${stream.folder}/sink.db`);
  const notes = db.prepare("SELECT key, fence, rows FROM notes").all();
  expect(notes).toHaveLength(1);
  expect(notes[0]?.fence).toBe(records[0]?.fence);
  const rows = JSON.parse(String(notes[0]?.rows)) as { n: number; part: number }[];
  expect(rows.map(({ n, part }) => ({ n, part }))).toEqual(ROWS);
}

const CASES = ALL_WAYS.flatMap((way) => pointsOf(way).map((point) => ({ ...way, point })));

describe("after a consumer is killed by SIGKILL, every row exists once", () => {
  test.concurrent.each(CASES)(
    "$title: $point",
    async ({ point, ...way }) => {
      const { fifo, contents, lease, sink, host = "run" } = way;
      const stream = await world.createStream(`${way.title}-${point}`, fifo);
      await feed(stream, way);
      const config = { contents, lease, sink, host, thread: false };
      for (const [at, kill] of killsOf(way, point).entries()) {
        const owner = `dead-${at + 1}`;
        const plan = { point: kill, signal: "SIGKILL" } as const;
        const killed = world.worker(stream, { ...config, owner, plan });
        await killed.waitForLine(new RegExp(`^at ${kill}$`));
        expect(await killed.ended()).toBe("SIGKILL");
      }
      const fresh = world.worker(stream, { ...config, owner: "fresh" });
      await fresh.waitForLine(/^ready$/);
      await world.empty(stream.name);
      expect(await fresh.end("SIGTERM")).toBe(0);
      check(stream, way);
      expect(await world.counts(stream.deadLetterName)).toMatchObject({ visible: 0, inFlight: 0 });
    },
    120_000,
  );
});
