// Four consumer processes race on one queue. TIDEGATE_RACE_MESSAGES sets the number of messages
// (4,000 in CI), TIDEGATE_RACE_SEED what is killed and when.

import { ReceiveMessageCommand } from "@aws-sdk/client-sqs";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createSeededRandom } from "../../src/core/seeded-random.ts";
import { decodeDossier } from "../../src/ingest/dead-letters/dossier.ts";
import {
  IngestWorld,
  openLedgerFile,
  readLedger,
  type Stream,
} from "../support/crash/ingest-world.ts";
import { patienceMs } from "../support/patience.ts";
import { behaviorOf, runRace, sendAll } from "./ingest-race-run.ts";
import { PARTS } from "./ingest-worker.ts";

const MESSAGES = Number(process.env.TIDEGATE_RACE_MESSAGES ?? 400);
const SEED = Number(process.env.TIDEGATE_RACE_SEED ?? Math.floor(Math.random() * 1_000_000));
const MESSAGES_PER_KILL = 50;
const RACE_MS_MAX = patienceMs(900_000);

const world = new IngestWorld();
beforeAll(() => world.up());
afterAll(() => world[Symbol.asyncDispose]());

const NUMBERS = Array.from({ length: MESSAGES }, (_, at) => at + 1);
const POISON = NUMBERS.filter((n) => behaviorOf(n) === "poison");
const HANDLED = NUMBERS.filter((n) => behaviorOf(n) !== "poison");

/** The readings in the dead-letter queue, one per message; nothing is deleted. */
async function deadLetters({ deadLetterUrl: QueueUrl }: Stream): Promise<number[]> {
  const client = world.sqs();
  const readings: number[] = [];
  for (;;) {
    const input = { QueueUrl, MaxNumberOfMessages: 10, VisibilityTimeout: 600 };
    const { Messages = [] } = await client.send(new ReceiveMessageCommand(input));
    if (Messages.length === 0) break;
    for (const { Body = "" } of Messages) readings.push(JSON.parse(Body).payload.n);
  }
  client.destroy();
  return readings;
}

function dossiers({ folder }: Stream) {
  using db = openLedgerFile(folder);
  const rows = db.prepare("SELECT body FROM ledger_note WHERE kind = 'dossier'").all();
  return rows.map(({ body }) => decodeDossier(String(body)));
}

const ascending = (numbers: Iterable<number>) => [...numbers].sort((a, b) => a - b);

test(`${MESSAGES} messages are applied exactly once, whatever is killed`, {
  timeout: RACE_MS_MAX,
}, async () => {
  const stream = await world.createStream("race", false);
  await sendAll(world, stream, MESSAGES);
  const kills = Math.max(2, Math.floor(MESSAGES / MESSAGES_PER_KILL));
  const plan = { messages: MESSAGES, kills, seed: SEED };
  const counts = await runRace(world, stream, plan, createSeededRandom(SEED));
  const { readings, commits, records } = readLedger(stream);
  const parkedReadings = await deadLetters(stream);
  const summary = `seed ${SEED}, ${MESSAGES} messages, ${commits.length} commits`;
  const details = `${parkedReadings.length} dead letters of ${POISON.length}, ${JSON.stringify(counts)}`;
  console.log(`ingest race: ${summary}, ${details}`);
  const expected = HANDLED.flatMap((n) => Array.from({ length: PARTS }, (_, part) => [n, part]));
  expect(
    readings.map(({ n, part }) => [n, part]),
    summary,
  ).toEqual(expected);
  expect(commits, summary).toHaveLength(HANDLED.length);
  expect(new Set(commits.map(({ key }) => key)).size, summary).toBe(HANDLED.length);
  const states = (state: string) => records.filter((record) => record.state === state).length;
  expect([states("committed"), states("parked"), records.length], summary).toEqual([
    HANDLED.length,
    POISON.length,
    MESSAGES,
  ]);
  // A lost response or a kill may leave a second copy of a dead letter, which counts as the same.
  expect(ascending(new Set(parkedReadings)), summary).toEqual(POISON);
  const stored = dossiers(stream);
  expect(stored, summary).toHaveLength(POISON.length);
  for (const { dead_letter, message } of stored) {
    expect(dead_letter, message).not.toBeNull();
    expect(message).toMatch(/is poison$/);
  }
  for (const kind of ["duplicate", "reorder", "drop-acknowledgement"]) {
    expect(counts.faults[kind], `${kind} never fired: ${summary}`).toBeGreaterThan(0);
  }
});
