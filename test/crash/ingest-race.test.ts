// Four consumer processes race on one queue. TIDEGATE_RACE_MESSAGES sets how many messages there
// are (4,000 in CI), TIDEGATE_RACE_SEED what is killed and when.

import { ReceiveMessageCommand } from "@aws-sdk/client-sqs";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createSeededRandom } from "../../src/core/seeded-random.ts";
import { decodeDossier } from "../../src/ingest/dead-letters/dossier.ts";
import { runRace, sendAll, temperOf } from "./ingest-race-run.ts";
import { IngestWorld, openLedgerFile, readLedger, type Stream } from "./ingest-site.ts";
import { PARTS } from "./ingest-worker.ts";

const MESSAGES = Number(process.env.TIDEGATE_RACE_MESSAGES ?? 400);
const SEED = Number(process.env.TIDEGATE_RACE_SEED ?? Math.floor(Math.random() * 1_000_000));
/** So many messages for each kill. */
const MESSAGES_PER_KILL = 50;
const RACE_MS_MAX = 900_000;

const site = new IngestWorld();
beforeAll(() => site.up());
afterAll(() => site[Symbol.asyncDispose]());

const NUMBERS = Array.from({ length: MESSAGES }, (_, at) => at + 1);
const POISON = NUMBERS.filter((n) => temperOf(n) === "poison");
const HANDLED = NUMBERS.filter((n) => temperOf(n) !== "poison");

/** The readings that dead letters tell of, one for each letter; they are left where they are. */
async function deadLetters({ deadLetterUrl: QueueUrl }: Stream): Promise<number[]> {
  const client = site.sqs();
  const found: number[] = [];
  for (;;) {
    const asked = { QueueUrl, MaxNumberOfMessages: 10, VisibilityTimeout: 600 };
    const { Messages = [] } = await client.send(new ReceiveMessageCommand(asked));
    if (Messages.length === 0) break;
    for (const { Body = "" } of Messages) found.push(JSON.parse(Body).payload.n);
  }
  client.destroy();
  return found;
}

function dossiers({ folder }: Stream) {
  using db = openLedgerFile(folder);
  const rows = db.prepare("SELECT body FROM ledger_note WHERE kind = 'dossier'").all();
  return rows.map(({ body }) => decodeDossier(String(body)));
}

const ascending = (numbers: Iterable<number>) => [...numbers].sort((a, b) => a - b);

test(`${MESSAGES} messages are applied once each, whatever is killed`, {
  timeout: RACE_MS_MAX,
}, async () => {
  const stream = await site.createStream("race", false);
  await sendAll(site, stream, MESSAGES);
  const kills = Math.max(2, Math.floor(MESSAGES / MESSAGES_PER_KILL));
  const plan = { messages: MESSAGES, kills, seed: SEED };
  const counts = await runRace(site, stream, plan, createSeededRandom(SEED));
  const { readings, commits, records } = readLedger(stream);
  const letters = await deadLetters(stream);
  const told = `seed ${SEED}, ${MESSAGES} messages, ${commits.length} commits`;
  const found = `${letters.length} dead letters of ${POISON.length}, ${JSON.stringify(counts)}`;
  console.log(`ingest race: ${told}, ${found}`);
  const wanted = HANDLED.flatMap((n) => Array.from({ length: PARTS }, (_, part) => [n, part]));
  expect(
    readings.map(({ n, part }) => [n, part]),
    told,
  ).toEqual(wanted);
  expect(commits, told).toHaveLength(HANDLED.length);
  expect(new Set(commits.map(({ key }) => key)).size, told).toBe(HANDLED.length);
  const states = (state: string) => records.filter((record) => record.state === state).length;
  expect([states("committed"), states("parked"), records.length], told).toEqual([
    HANDLED.length,
    POISON.length,
    MESSAGES,
  ]);
  // A lost answer or a kill may leave a second copy of a dead letter, which counts as the same.
  expect(ascending(new Set(letters)), told).toEqual(POISON);
  const known = dossiers(stream);
  expect(known, told).toHaveLength(POISON.length);
  for (const { dead_letter, message } of known) {
    expect(dead_letter, message).not.toBeNull();
    expect(message).toMatch(/is poison$/);
  }
  for (const kind of ["duplicate", "reorder", "drop-acknowledgement"]) {
    expect(counts.faults[kind], `${kind} never struck: ${told}`).toBeGreaterThan(0);
  }
});
