// Kills a consumer at every point of parking a record, lets a fresh one continue, and checks the
// dossier, the dead letters and the queue. TIDEGATE_KILL_WAYS=all runs every path and point, as CI
// does.
//   G1. Whatever the point, the record is parked with one dossier, which names its dead letter.
//   G2. A FIFO dead-letter queue holds one copy. A standard one holds one for each time that it was
//       sent and not noted; readers treat the copies as one.
//   G3. The dead letter's body is the message's, and the source queue is empty.

import { join } from "node:path";
import { SQSClient } from "@aws-sdk/client-sqs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createSqsQueue } from "../../src/aws/sqs/sqs-queue.ts";
import {
  type DeadLetter,
  listDeadLetters,
} from "../../src/ingest/dead-letters/dead-letter-list.ts";
import { systemPorts } from "../../src/platform/index.ts";
import { createSqliteLedger } from "../../src/stores/sqlite/ledger/ledger.ts";
import { IngestWorld, readLedger, type Stream } from "../support/crash/ingest-world.ts";
import { sampleOf } from "../support/full-size.ts";
import { type IngestPoint, PARKING_POINTS } from "./ingest-points.ts";
import { PARTS, type WorkerConfig } from "./ingest-worker.ts";

const world = new IngestWorld();
beforeAll(() => world.up());
afterAll(() => world[Symbol.asyncDispose]());

const SCOPE = { pipeline: "ingest", generation: 0 } as const;
const POINTS = [...PARKING_POINTS, "deleting", "deleted"] as const;
/** A second process reaches these again, because the first stored nothing durable after them. */
const TWICE: ReadonlySet<IngestPoint> = new Set([
  "parking",
  "before-parking-commit",
  "dead-letter-sending",
  "dead-letter-sent",
  "dead-letter-noting",
]);
/** A crash here leaves a dead letter that the dossier does not name yet. */
const SENT_UNNOTED: ReadonlySet<IngestPoint> = new Set(["dead-letter-sent", "dead-letter-noting"]);

interface Way {
  readonly always?: true;
  readonly title: string;
  readonly fifo: boolean;
  readonly lease: WorkerConfig["lease"];
  /** Default: "run". */
  readonly host?: WorkerConfig["host"];
  /** Sends a message that cannot be handled, and returns its body. */
  readonly feed: (stream: Stream) => Promise<string>;
}

const poison: Way["feed"] = (stream) => world.send(stream, 1, "poison");
const unreadable: Way["feed"] = async (stream) => {
  const body = "{not valid JSON";
  await world.sendBody(stream, body);
  return body;
};

const ALL_WAYS: readonly Way[] = [
  { title: "parked", always: true, fifo: false, lease: "ledger", feed: poison },
  { title: "parked-receipt", fifo: false, lease: "receipt", feed: poison },
  { title: "parked-fifo", always: true, fifo: true, lease: "receipt", feed: poison },
  { title: "parked-fifo-claimed", fifo: true, lease: "ledger", feed: poison },
  { title: "parked-lambda", fifo: false, lease: "ledger", host: "lambda", feed: poison },
  { title: "parked-lambda-fifo", fifo: true, lease: "ledger", host: "lambda", feed: poison },
  { title: "parked-task", fifo: false, lease: "ledger", host: "task", feed: poison },
  { title: "parked-task-fifo", fifo: true, lease: "ledger", host: "task", feed: poison },
  { title: "parked-unreadable", fifo: false, lease: "receipt", feed: unreadable },
];
const ALL = process.env.TIDEGATE_KILL_WAYS === "all";
const WAYS = ALL_WAYS.filter(({ always }) => always || ALL);
const CASES = sampleOf(
  3,
  WAYS.flatMap((way) => POINTS.map((point) => ({ ...way, point }))),
  ALL,
);

/** What `tidegate dlq list --peek` would show. */
async function deadLettersOf({ folder, deadLetterUrl: queueUrl }: Stream): Promise<DeadLetter[]> {
  const credentials = { accessKeyId: "any", secretAccessKey: "any" };
  const client = new SQSClient({ endpoint: world.endpoint, region: "us-east-1", credentials });
  const ledger = createSqliteLedger(systemPorts, { path: join(folder, "ledger.db") });
  const queue = createSqsQueue({ client, queueUrl });
  try {
    const { clock } = systemPorts;
    return await listDeadLetters({ clock, ledger, queue }, { scope: SCOPE });
  } finally {
    await ledger.close();
    client.destroy();
  }
}

async function crashAt(stream: Stream, point: IngestPoint, config: Partial<WorkerConfig>) {
  const plan = { point, signal: "SIGKILL" } as const;
  const crashing = world.worker(stream, { ...config, plan });
  await crashing.waitForLine(new RegExp(`^at ${point}$`));
  expect(await crashing.ended()).toBe("SIGKILL");
}

async function finish(stream: Stream, config: Partial<WorkerConfig>): Promise<void> {
  const fresh = world.worker(stream, { ...config, owner: "fresh" });
  await fresh.waitForLine(/^ready$/);
  await world.empty(stream.name);
  expect(await fresh.end("SIGTERM")).toBe(0);
}

describe("a consumer killed by SIGKILL while it parks a record leaves one dead letter", () => {
  test.concurrent.each(CASES)(
    "$title: $point",
    async ({ title, fifo, lease, host = "run", feed, point }) => {
      const stream = await world.createStream(`${title}-${point}`, fifo);
      const body = await feed(stream);
      const crashes = TWICE.has(point) ? 2 : 1;
      for (let at = 1; at <= crashes; at += 1) {
        await crashAt(stream, point, { lease, host, thread: false, owner: `dead-${at}` });
      }
      await world.send(stream, 2);
      await finish(stream, { lease, host, thread: false });

      const { readings, commits, records } = readLedger(stream);
      expect(records.map(({ state }) => state).toSorted()).toEqual(["committed", "parked"]);
      expect(readings).toHaveLength(PARTS); // Of the good record, which came last.
      expect(commits).toHaveLength(1);

      const sent = SENT_UNNOTED.has(point) ? crashes + 1 : 1;
      const bodies = (await world.messagesIn(stream.deadLetterName)).map((message) => message.body);
      expect(bodies).toEqual(Array(fifo ? 1 : sent).fill(body)); // G2, G3
      const deadLetters = await deadLettersOf(stream);
      const fence = records.find(({ state }) => state === "parked")?.fence;
      expect(deadLetters).toMatchObject([
        {
          state: "parked",
          copies: fifo ? 1 : sent,
          dossier: { dead_letter: { queue: stream.deadLetterName, fence } },
        },
      ]); // G1
    },
    120_000,
  );
});

test("a record that kills its consumer every time is parked with class crash", async () => {
  const stream = await world.createStream("killer", false);
  const config = { lease: "ledger", thread: false, attempts: 2 } as const;
  const body = await world.send(stream, 1);
  for (const owner of ["dead-1", "dead-2"])
    await crashAt(stream, "in-handler", { ...config, owner });
  await finish(stream, config);
  expect(readLedger(stream)).toMatchObject({ readings: [], records: [{ state: "parked" }] });
  expect(await world.messagesIn(stream.deadLetterName)).toMatchObject([{ body }]);
  expect(await deadLettersOf(stream)).toMatchObject([{ errorClass: "crash", copies: 1 }]);
});
