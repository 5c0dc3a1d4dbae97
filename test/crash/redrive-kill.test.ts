// Kills the real `tidegate dlq redrive` at each of its own steps while a consumer works, runs it
// again, and looks at the rows. TIDEGATE_KILL_WAYS=all takes FIFO queues as well, as CI does.

import { ChangeMessageVisibilityCommand } from "@aws-sdk/client-sqs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { IngestWorld, openLedgerFile, readLedger, type Stream } from "./ingest-site.ts";
import { PARTS } from "./ingest-worker.ts";
import type { RedrivePoint } from "./redrive-points.ts";

const site = new IngestWorld();
beforeAll(() => site.up());
afterAll(() => site[Symbol.asyncDispose]());

const LETTERS = [1, 2, 3, 4];
const UNREADABLE = "{nobody can read this";
/** Midway where there is a step for each letter. */
const STEPS: readonly (readonly [RedrivePoint, number])[] = [
  ["received", 1],
  ["reopening", 1],
  ["reopened", 1],
  ["sending-back", 1],
  ["sending-back", 3],
  ["sent-back", 2],
  ["taking-away", 2],
  ["taken-away", 3],
  ["putting-back", 1],
  ["put-back", 1],
  ["removing-dossier", 1],
  ["removed-dossier", 1],
];
const KINDS = process.env.TIDEGATE_KILL_WAYS === "all" ? ["standard", "fifo"] : ["standard"];
const CASES = KINDS.flatMap((kind) => STEPS.map(([point, nth]) => ({ kind, point, nth })));

/** Readings that were given up on, and beside them a letter that the redrive does not ask for. */
async function fill(stream: Stream, fifo: boolean): Promise<void> {
  for (const n of LETTERS) await site.send(stream, n, "poison");
  const apart = { MessageGroupId: "apart", MessageDeduplicationId: "unreadable" };
  await site.sendBody(stream, UNREADABLE, fifo ? apart : {});
  const broken = site.worker(stream, { owner: "broken", thread: false });
  await broken.told(/^ready$/);
  await site.empty(stream.name);
  expect(await broken.end("SIGTERM")).toBe(0);
  expect(await site.messagesIn(stream.deadLetterName)).toHaveLength(LETTERS.length + 1);
}

function redrive({ folder, name }: Stream, point: string | null) {
  const place = ["--ledger", `sqlite:${folder}/ledger.db`, "--queue", name];
  const words = ["dlq", "redrive", "--class", "permanent", "--rate", "100", "--json", ...place];
  return site.command(words, point);
}

/** Lets the time pass for which a scan hides what it has received. */
async function letPass({ deadLetterUrl: QueueUrl }: Stream, lines: readonly string[]) {
  const client = site.sqs();
  for (const line of lines) {
    const [word, ReceiptHandle] = line.split(" ");
    if (word !== "holds") continue;
    const shown = new ChangeMessageVisibilityCommand({
      ...{ QueueUrl, ReceiptHandle, VisibilityTimeout: 0 },
    });
    await client.send(shown).catch(() => undefined); // It was taken away, or put back.
  }
  client.destroy();
}

function dossiersIn({ folder }: Stream): unknown[] {
  using db = openLedgerFile(folder);
  return db.prepare("SELECT name FROM ledger_note WHERE kind = 'dossier'").all();
}

describe("a redrive killed by SIGKILL is run again, and every letter takes effect once", () => {
  test.concurrent.each(CASES)(
    "$kind: $point ($nth)",
    async ({ kind, point, nth }) => {
      const fifo = kind === "fifo";
      const stream = await site.createStream(`redrive-${kind}-${point}-${nth}`, fifo);
      await fill(stream, fifo);
      const mended = site.worker(stream, { owner: "mended", mended: true, thread: false });
      await mended.told(/^ready$/);

      const doomed = redrive(stream, `${point}:${nth}`);
      await doomed.told(new RegExp(`^at ${point}$`));
      expect(await doomed.ended()).toBe("SIGKILL");
      await letPass(stream, doomed.lines);

      const again = redrive(stream, null);
      expect([await again.ended(), again.log]).toEqual([0, ""]);
      await site.empty(stream.name);
      expect(await mended.end("SIGTERM")).toBe(0);

      const { readings, commits, records } = readLedger(stream);
      const rows = LETTERS.flatMap((n) =>
        Array.from({ length: PARTS }, (_, part) => ({ n, part })),
      );
      expect(readings.map(({ n, part }) => ({ n, part }))).toEqual(rows);
      expect(new Set(commits.map(({ key }) => key)).size).toBe(LETTERS.length);
      expect(commits).toHaveLength(LETTERS.length);
      const states = records.map(({ state }) => state).toSorted();
      expect(states).toEqual([...LETTERS.map(() => "committed"), "parked"]);
      // What the redrive did not ask for is where it was, for anybody to see.
      expect(await site.messagesIn(stream.deadLetterName)).toMatchObject([{ body: UNREADABLE }]);
      expect(await site.counts(stream.deadLetterName)).toMatchObject({ visible: 1, inFlight: 0 });
      expect(dossiersIn(stream)).toHaveLength(1);
    },
    120_000,
  );
});
