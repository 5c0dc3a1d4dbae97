// Kills the real `tidegate dlq redrive` at each of its steps while a consumer runs, runs it again,
// and checks the rows. TIDEGATE_KILL_WAYS=all runs every step, also on FIFO
// queues, as CI does.

import { ChangeMessageVisibilityCommand } from "@aws-sdk/client-sqs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  IngestWorld,
  openLedgerFile,
  readLedger,
  type Stream,
} from "../support/crash/ingest-world.ts";
import { sampleOf } from "../support/full-size.ts";
import { PARTS } from "./ingest-worker.ts";
import type { RedrivePoint } from "./redrive-points.ts";

const world = new IngestWorld();
beforeAll(() => world.up());
afterAll(() => world[Symbol.asyncDispose]());

const PARKED = [1, 2, 3, 4];
const UNREADABLE = "{not valid JSON";
/** In the middle of the run, where there is a step for each dead letter. */
const STEPS: readonly (readonly [RedrivePoint, number])[] = [
  ["received", 1],
  ["reopening", 1],
  ["reopened", 1],
  ["sending-back", 1],
  ["sending-back", 3],
  ["sent-back", 2],
  ["deleting", 2],
  ["deleted", 3],
  ["returning", 1],
  ["returned", 1],
  ["removing-dossier", 1],
  ["removed-dossier", 1],
];
const ALL = process.env.TIDEGATE_KILL_WAYS === "all";
const KINDS = ALL ? ["standard", "fifo"] : ["standard"];
const CASES = KINDS.flatMap((kind) =>
  sampleOf(3, STEPS, ALL).map(([point, nth]) => ({ kind, point, nth })),
);

/** Parks some readings, and one message that the redrive does not select. */
async function fill(stream: Stream, fifo: boolean): Promise<void> {
  for (const n of PARKED) await world.send(stream, n, "poison");
  const apart = { MessageGroupId: "apart", MessageDeduplicationId: "unreadable" };
  await world.sendBody(stream, UNREADABLE, fifo ? apart : {});
  const broken = world.worker(stream, { owner: "broken", thread: false });
  await broken.waitForLine(/^ready$/);
  await world.empty(stream.name);
  expect(await broken.end("SIGTERM")).toBe(0);
  expect(await world.messagesIn(stream.deadLetterName)).toHaveLength(PARKED.length + 1);
}

function redrive({ folder, name }: Stream, point: string | null) {
  const target = ["--ledger", `sqlite:${folder}/ledger.db`, "--queue", name];
  const words = ["dlq", "redrive", "--class", "permanent", "--rate", "100", "--json", ...target];
  return world.command(words, point);
}

/** Ends the visibility timeout of everything that the killed scan received. */
async function endVisibility({ deadLetterUrl: QueueUrl }: Stream, lines: readonly string[]) {
  const client = world.sqs();
  for (const line of lines) {
    const [word, ReceiptHandle] = line.split(" ");
    if (word !== "holds") continue;
    const command = new ChangeMessageVisibilityCommand({
      QueueUrl,
      ReceiptHandle,
      VisibilityTimeout: 0,
    });
    await client.send(command).catch(() => undefined); // It was deleted or returned.
  }
  client.destroy();
}

function dossiersIn({ folder }: Stream): unknown[] {
  using db = openLedgerFile(folder);
  return db.prepare("SELECT name FROM ledger_note WHERE kind = 'dossier'").all();
}

describe("a redrive killed by SIGKILL is run again, and every dead letter takes effect once", () => {
  test.concurrent.each(CASES)(
    "$kind: $point ($nth)",
    async ({ kind, point, nth }) => {
      const fifo = kind === "fifo";
      const stream = await world.createStream(`redrive-${kind}-${point}-${nth}`, fifo);
      await fill(stream, fifo);
      const repaired = world.worker(stream, { owner: "repaired", repaired: true, thread: false });
      await repaired.waitForLine(/^ready$/);

      const killed = redrive(stream, `${point}:${nth}`);
      await killed.waitForLine(new RegExp(`^at ${point}$`));
      expect(await killed.ended()).toBe("SIGKILL");
      await endVisibility(stream, killed.lines);

      const again = redrive(stream, null);
      expect([await again.ended(), again.log]).toEqual([0, ""]);
      await world.empty(stream.name);
      expect(await repaired.end("SIGTERM")).toBe(0);

      const { readings, commits, records } = readLedger(stream);
      const rows = PARKED.flatMap((n) => Array.from({ length: PARTS }, (_, part) => ({ n, part })));
      expect(readings.map(({ n, part }) => ({ n, part }))).toEqual(rows);
      expect(new Set(commits.map(({ key }) => key)).size).toBe(PARKED.length);
      expect(commits).toHaveLength(PARKED.length);
      const states = records.map(({ state }) => state).toSorted();
      expect(states).toEqual([...PARKED.map(() => "committed"), "parked"]);
      // The message that the redrive did not select is still in its queue and visible.
      expect(await world.messagesIn(stream.deadLetterName)).toMatchObject([{ body: UNREADABLE }]);
      expect(await world.counts(stream.deadLetterName)).toMatchObject({ visible: 1, inFlight: 0 });
      expect(dossiersIn(stream)).toHaveLength(1);
    },
    120_000,
  );
});
