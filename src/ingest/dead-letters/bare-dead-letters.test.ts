// Bare dead letters that the SQS redrive or an operator moved back into their queue (F5, X6), or
// that a redrive sends back (B6). Their content does not show that they are dead letters.

import { expect, test } from "vitest";
import { type ConsumerWorld, createConsumerWorld } from "../../../test/support/consumer-world.ts";
import { runRedrive } from "../../../test/support/dead-letter-world.ts";
import { ManualClock } from "../../../test/support/manual-clock.ts";
import { SQS_MESSAGE_BYTES_MAX } from "../../core/limits.ts";
import { epochMs } from "../../core/units.ts";
import type { Delivery, Queue } from "../../ports/queue-receiver.ts";
import { createQueueClock } from "../running/queue-clock.ts";
import { PermanentError } from "../spec/handler-errors.ts";
import { decodeDossier, encodeDossier } from "./dossier.ts";

const SCOPE = { pipeline: "test", generation: 0 };
const RECORDS = 4;

/** A message that fills the limit with the events of several objects. */
function manyEvents(): string {
  const event = (at: number, pad: string) => ({
    eventVersion: "2.1",
    eventSource: "aws:s3",
    awsRegion: "us-east-1",
    eventTime: "2026-01-01T00:00:00.000Z",
    eventName: "ObjectCreated:Put",
    userIdentity: { principalId: at === 0 ? pad : "" },
    s3: {
      bucket: { name: "inbox", arn: "arn:aws:s3:::inbox" },
      object: { key: `${at}.csv`, size: 1, eTag: "0cc175b9c0f1b6a831c399e269772661" },
    },
  });
  const build = (pad: string) =>
    JSON.stringify({ Records: Array.from({ length: RECORDS }, (_, at) => event(at, pad)) });
  return build("x".repeat(SQS_MESSAGE_BYTES_MAX - build("").length));
}

/** Dead-letters all records of one message: one dead letter each, all with the same body. */
async function parkMany(wrapQueue?: (queue: Queue) => Queue) {
  const broken = { yes: true, runs: 0 };
  const handler = () => {
    broken.runs += 1;
    if (broken.yes) throw new PermanentError("no", { class: "schema" });
  };
  const world = await createConsumerWorld({
    bucket: "inbox",
    handler: handler as never,
    ...(wrapQueue !== undefined && { wrapQueue }),
  });
  await world.sendBody(manyEvents());
  await world.consumer("one").start();
  await world.pass(5_000);
  expect(await world.depth(world.deadLetters)).toBe(RECORDS);
  return { world, broken };
}

async function moveBack(world: ConsumerWorld): Promise<void> {
  const { account, region } = world.cloud.broker;
  const arn = ({ name }: Queue) => `arn:aws:sqs:${region}:${account}:${name}`;
  const asked = { sourceArn: arn(world.deadLetters), destinationArn: arn(world.queue) };
  const moved = await world.cloud.broker.submit("startMoveTask", { ...asked, perSecondMax: null });
  expect(moved.ok).toBe(true);
  await world.pass(120_000);
  expect(await world.depth()).toBe(0);
}

test("records of one message that fail again keep one dead letter each", async () => {
  const { world, broken } = await parkMany();
  await using _ = world;
  for (let round = 1; round <= 3; round += 1) {
    await moveBack(world);
    expect(await world.depth(world.deadLetters)).toBe(RECORDS);
    expect(broken.runs).toBe(RECORDS * (round + 1));
  }
  broken.yes = false;
  await moveBack(world);
  expect(broken.runs).toBe(RECORDS * 5);
  expect(await world.depth(world.deadLetters)).toBe(0);
});

test("a dead letter moved back is tried even if the queue's clock is behind", async () => {
  // The queue's clock is three minutes behind, and the dead letter comes back within two.
  const wrapQueue = (queue: Queue): Queue => ({
    ...queue,
    async receive(request, signal) {
      const deliveries = await queue.receive(request, signal);
      return deliveries.map((each) => ({ ...each, sentAt: epochMs(each.sentAt - 180_000) }));
    },
  });
  const { world, broken } = await parkMany(wrapQueue);
  await using _ = world;
  broken.yes = false;
  await moveBack(world);
  expect(broken.runs).toBe(RECORDS * 2);
});

test("a dossier without the queue's time uses its own send time, with a margin", async () => {
  const { world, broken } = await parkMany();
  await using _ = world;
  const notes = await world.ledger.listNotes(SCOPE, "dossier", { after: null, limit: 10 });
  for (const note of notes) {
    const dossier = decodeDossier(note.body);
    const { not_before, ...deadLetter } = dossier.dead_letter ?? { sent_at: 0 };
    expect(not_before).toBeGreaterThan(deadLetter.sent_at - 60_000);
    const body = encodeDossier({ ...dossier, dead_letter: deadLetter as never });
    await world.ledger.addNotes(SCOPE, [{ ...note, kind: "dossier", count: 0, body }]);
  }
  broken.yes = false;
  await moveBack(world);
  expect(broken.runs).toBe(RECORDS * 2);
});

test("the queue's clock follows deliveries and ignores changes of the wall clock", () => {
  const own = new ManualClock(1_000_000);
  const clock = createQueueClock(own);
  const saw = (sentAt: number, receivedAt = own.now()) =>
    clock.saw({ delivery: { sentAt: epochMs(sentAt) } as Delivery, receivedAt });
  expect(clock.now()).toBe(700_000); // Nothing is known yet (K3).
  saw(10_000);
  expect(clock.now()).toBe(10_000);
  own.advance(5_000);
  expect(clock.now()).toBe(15_000);
  saw(12_000); // Took longer to arrive than the previous one.
  expect(clock.now()).toBe(15_000);
  const received = own.now();
  own.advance(300);
  saw(15_250, received); // In flight since then.
  expect(clock.now()).toBe(15_550);
  own.setWall(9_000_000);
  expect(clock.now()).toBe(15_550); // K2
});

test("a redrive sends their message once, and each failed record has one dead letter", async () => {
  const { world, broken } = await parkMany();
  await using _ = world;
  for (let round = 1; round <= 2; round += 1) {
    const { summary } = await runRedrive(world, { perSecond: 1 });
    expect(summary).toMatchObject({ sent: RECORDS, failedAgain: RECORDS, missing: 0 });
    expect(await world.depth(world.deadLetters)).toBe(RECORDS);
    expect(broken.runs).toBe(RECORDS * (round + 1));
  }
  broken.yes = false;
  const { summary } = await runRedrive(world);
  expect(summary).toMatchObject({ sent: RECORDS, committed: RECORDS, missing: 0 });
  expect(broken.runs).toBe(RECORDS * 4);
  expect(await world.depth(world.deadLetters)).toBe(0);
  expect(await world.ledger.listNotes(SCOPE, "dossier", { after: null, limit: 10 })).toEqual([]);
});
