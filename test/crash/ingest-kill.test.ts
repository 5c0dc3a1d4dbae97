// Kills a consumer at every named point, lets a fresh one drain the queue, and looks at the rows.
// TIDEGATE_KILL_WAYS=all takes every point on every way, as CI does; otherwise on those marked.

import {
  CreateBucketCommand,
  PutBucketNotificationConfigurationCommand,
  PutObjectCommand,
} from "@aws-sdk/client-s3";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openNotebook } from "./ingest-notebook-sink.ts";
import { INGEST_POINTS, type IngestPoint } from "./ingest-points.ts";
import { IngestWorld, readLedger, type Stream } from "./ingest-site.ts";
import { PARTS, type WorkerConfig } from "./ingest-worker.ts";

const site = new IngestWorld();
beforeAll(() => site.up());
afterAll(() => site[Symbol.asyncDispose]());

const ROWS = Array.from({ length: PARTS }, (_, part) => ({ n: 1, part }));
const FUNCTION_POINTS: ReadonlySet<IngestPoint> = new Set(["applying", "applied"]);
const CLAIM_POINTS: ReadonlySet<IngestPoint> = new Set(["claiming", "claimed"]);
const ORDER: readonly IngestPoint[] = INGEST_POINTS;
/** What has come so far is committed, or may be: a second delivery is a duplicate then. */
const FIRST_COMMITTED = ORDER.indexOf("after-sqlite-commit");

interface Way {
  /** Whether it is taken wherever the tests run. */
  readonly always?: true;
  readonly title: string;
  readonly fifo: boolean;
  readonly contents: WorkerConfig["contents"];
  readonly lease: WorkerConfig["lease"];
  readonly sink: WorkerConfig["sink"];
}

const ALL_WAYS: readonly Way[] = [
  {
    title: "object",
    always: true,
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
    always: true,
    fifo: true,
    contents: "messages",
    lease: "ledger",
    sink: "table",
  },
  { title: "function", fifo: false, contents: "messages", lease: "ledger", sink: "function" },
];
const WAYS = ALL_WAYS.filter(({ always }) => always || process.env.TIDEGATE_KILL_WAYS === "all");

function pointsOf({ sink }: Way): readonly IngestPoint[] {
  if (sink === "table") return INGEST_POINTS.filter((point) => !FUNCTION_POINTS.has(point));
  return INGEST_POINTS.filter((point) => point !== "in-transaction");
}

/** The points at which one process after the other dies. */
function deathsOf({ lease }: Way, point: IngestPoint): IngestPoint[] {
  if (lease !== "receipt") return [point];
  // A receipt is enough for the first delivery; the second is claimed.
  if (CLAIM_POINTS.has(point)) return ["received", point];
  return ORDER.indexOf(point) < FIRST_COMMITTED ? [point, point] : [point];
}

async function feed(stream: Stream, { contents, title }: Way): Promise<void> {
  if (contents === "messages") return void (await site.send(stream, 1));
  const client = site.s3();
  const Bucket = `bucket-${stream.name}`;
  await client.send(new CreateBucketCommand({ Bucket }));
  const QueueConfigurations = [{ QueueArn: stream.arn, Events: ["s3:ObjectCreated:*" as const] }];
  const NotificationConfiguration = { QueueConfigurations };
  await client.send(
    new PutBucketNotificationConfigurationCommand({
      ...{ Bucket, NotificationConfiguration, SkipDestinationValidation: true },
    }),
  );
  const Body = ["n,part", ...ROWS.map(({ n, part }) => `${n},${part}`)].join("\n");
  await client.send(new PutObjectCommand({ Bucket, Key: `${title}.csv`, Body }));
  client.destroy();
}

/** The rows are there once, each commit was one, and the ledger knows of nothing else. */
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

const CASES = WAYS.flatMap((way) => pointsOf(way).map((point) => ({ ...way, point })));

describe("a consumer killed by SIGKILL leaves everything once", () => {
  test.concurrent.each(CASES)(
    "$title: $point",
    async ({ point, ...way }) => {
      const { fifo, contents, lease, sink } = way;
      const stream = await site.createStream(`${way.title}-${point}`, fifo);
      await feed(stream, way);
      const config = { contents, lease, sink, thread: false };
      for (const [at, death] of deathsOf(way, point).entries()) {
        const owner = `dead-${at + 1}`;
        const plan = { point: death, signal: "SIGKILL" } as const;
        const doomed = site.worker(stream, { ...config, owner, plan });
        await doomed.told(new RegExp(`^at ${death}$`));
        expect(await doomed.ended()).toBe("SIGKILL");
      }
      const fresh = site.worker(stream, { ...config, owner: "fresh" });
      await fresh.told(/^ready$/);
      await site.empty(stream.name);
      expect(await fresh.end("SIGTERM")).toBe(0);
      check(stream, way);
      expect(await site.counts(stream.deadLetterName)).toMatchObject({ visible: 0, inFlight: 0 });
    },
    120_000,
  );
});
