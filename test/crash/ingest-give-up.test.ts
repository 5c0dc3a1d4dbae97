// Kills a consumer at every point of giving a record up, lets a fresh one go on, and looks at the
// dossier, the dead letters and the queue. TIDEGATE_KILL_WAYS=all takes every way, as CI does.
//   G1. Whatever the point, the record is parked with one dossier, which names its dead letter.
//   G2. A FIFO queue holds one letter. A standard queue holds one for each time that it was sent
//       and not noted; a reader takes them for one.
//   G3. The letter's body is the message's, and nothing is left in the queue.

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
import { GIVING_UP_POINTS, type IngestPoint } from "./ingest-points.ts";
import { IngestWorld, readLedger, type Stream } from "./ingest-site.ts";
import { PARTS, type WorkerConfig } from "./ingest-worker.ts";

const site = new IngestWorld();
beforeAll(() => site.up());
afterAll(() => site[Symbol.asyncDispose]());

const SCOPE = { pipeline: "ingest", generation: 0 } as const;
const POINTS = [...GIVING_UP_POINTS, "deleting", "deleted"] as const;
/** A second process comes by these again, as the first left nothing durable behind them. */
const TWICE: ReadonlySet<IngestPoint> = new Set([
  "giving-up",
  "before-parking-commit",
  "letter-sending",
  "letter-sent",
  "letter-noting",
]);
/** Deaths here leave a letter that nobody has noted. */
const SENT_UNNOTED: ReadonlySet<IngestPoint> = new Set(["letter-sent", "letter-noting"]);

interface Way {
  readonly always?: true;
  readonly title: string;
  readonly fifo: boolean;
  readonly lease: WorkerConfig["lease"];
  /** Sends what cannot be handled, and tells its body. */
  readonly feed: (stream: Stream) => Promise<string>;
}

const poison: Way["feed"] = (stream) => site.send(stream, 1, "poison");
const unreadable: Way["feed"] = async (stream) => {
  const body = "{nobody can read this";
  await site.sendBody(stream, body);
  return body;
};

const ALL_WAYS: readonly Way[] = [
  { title: "given-up", always: true, fifo: false, lease: "ledger", feed: poison },
  { title: "given-up-receipt", fifo: false, lease: "receipt", feed: poison },
  { title: "given-up-fifo", always: true, fifo: true, lease: "receipt", feed: poison },
  { title: "given-up-fifo-claimed", fifo: true, lease: "ledger", feed: poison },
  { title: "given-up-unreadable", fifo: false, lease: "receipt", feed: unreadable },
];
const WAYS = ALL_WAYS.filter(({ always }) => always || process.env.TIDEGATE_KILL_WAYS === "all");
const CASES = WAYS.flatMap((way) => POINTS.map((point) => ({ ...way, point })));

/** What `tidegate dlq list --peek` would tell. */
async function lettersOf({ folder, deadLetterUrl: queueUrl }: Stream): Promise<DeadLetter[]> {
  const credentials = { accessKeyId: "any", secretAccessKey: "any" };
  const place = { endpoint: site.endpoint, region: "us-east-1", credentials };
  const client = new SQSClient(place);
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

async function dieAt(stream: Stream, point: IngestPoint, config: Partial<WorkerConfig>) {
  const plan = { point, signal: "SIGKILL" } as const;
  const doomed = site.worker(stream, { ...config, plan });
  await doomed.told(new RegExp(`^at ${point}$`));
  expect(await doomed.ended()).toBe("SIGKILL");
}

async function finish(stream: Stream, config: Partial<WorkerConfig>): Promise<void> {
  const fresh = site.worker(stream, { ...config, owner: "fresh" });
  await fresh.told(/^ready$/);
  await site.empty(stream.name);
  expect(await fresh.end("SIGTERM")).toBe(0);
}

describe("a consumer killed by SIGKILL while it gives up leaves one dead letter", () => {
  test.concurrent.each(CASES)(
    "$title: $point",
    async ({ title, fifo, lease, feed, point }) => {
      const stream = await site.createStream(`${title}-${point}`, fifo);
      const body = await feed(stream);
      const deaths = TWICE.has(point) ? 2 : 1;
      for (let at = 1; at <= deaths; at += 1) {
        await dieAt(stream, point, { lease, thread: false, owner: `dead-${at}` });
      }
      await site.send(stream, 2);
      await finish(stream, { lease, thread: false });

      const { readings, commits, records } = readLedger(stream);
      expect(records.map(({ state }) => state).toSorted()).toEqual(["committed", "parked"]);
      expect(readings).toHaveLength(PARTS); // Of the good one, which came last.
      expect(commits).toHaveLength(1);

      const sent = SENT_UNNOTED.has(point) ? deaths + 1 : 1;
      const bodies = (await site.messagesIn(stream.deadLetterName)).map((letter) => letter.body);
      expect(bodies).toEqual(Array(fifo ? 1 : sent).fill(body)); // G2, G3
      const letters = await lettersOf(stream);
      const fence = records.find(({ state }) => state === "parked")?.fence;
      expect(letters).toMatchObject([
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

test("a record that kills its consumer every time is given up on as a crash", async () => {
  const stream = await site.createStream("killer", false);
  const config = { lease: "ledger", thread: false, attempts: 2 } as const;
  const body = await site.send(stream, 1);
  for (const owner of ["dead-1", "dead-2"]) await dieAt(stream, "in-handler", { ...config, owner });
  await finish(stream, config);
  expect(readLedger(stream)).toMatchObject({ readings: [], records: [{ state: "parked" }] });
  expect(await site.messagesIn(stream.deadLetterName)).toMatchObject([{ body }]);
  expect(await lettersOf(stream)).toMatchObject([{ errorClass: "crash", copies: 1 }]);
}, 120_000);
