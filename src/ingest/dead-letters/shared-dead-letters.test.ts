// Several source queues share one dead-letter queue: commands touch only their own source's.

import { expect, test } from "vitest";
import { collect } from "../../../test/support/byte-sources.ts";
import { type ConsumerWorld, createConsumerWorld } from "../../../test/support/consumer-world.ts";
import {
  inTime,
  listIn,
  redrivePorts,
  runRedrive,
  SCOPE,
} from "../../../test/support/dead-letter-world.ts";
import { createBrokerQueue } from "../../cloud/broker-queue.ts";
import { SQS_MESSAGE_BYTES_MAX } from "../../core/limits.ts";
import type { Queue } from "../../ports/queue-receiver.ts";
import { PermanentError } from "../spec/handler-errors.ts";
import { dropDeadLetters } from "./drop-dead-letters.ts";

const broken = { yes: true };
const handler = () => {
  if (broken.yes) throw new PermanentError("no", { class: "schema" });
};

/** Two queues that one pipeline consumes, with one dead-letter queue between them. */
async function twoSources() {
  broken.yes = true;
  const world = await createConsumerWorld({ handler });
  const { account, region } = world.cloud.broker;
  const deadLetterTargetArn = `arn:aws:sqs:${region}:${account}:${world.deadLetters.name}`;
  const RedrivePolicy = JSON.stringify({ deadLetterTargetArn, maxReceiveCount: 3 });
  const asked = { name: "other", attributes: { RedrivePolicy }, tags: {} };
  await world.cloud.broker.submit("createQueue", asked);
  const other = createBrokerQueue(world.cloud.broker, { queue: "other" });
  await world.consumer("one").start();
  return { world, other };
}

/** Sends the message of `world.send` to the other queue. */
async function sendTo(other: Queue, world: ConsumerWorld, key: string): Promise<void> {
  const { sendBatch } = world.queue;
  Object.assign(world.queue, { sendBatch: other.sendBatch });
  await world.send(key);
  Object.assign(world.queue, { sendBatch });
}

function drop(world: ConsumerWorld, source: string) {
  const { cloud, ledger, deadLetters } = world;
  const ports = { clock: cloud.clock, ledger, deadLetters, source: world.queue };
  return inTime(world, collect(dropDeadLetters(ports, { scope: SCOPE, source })));
}

test("a drop deletes only the dead letters of its own source, with their dossiers", async () => {
  const { world, other } = await twoSources();
  await using _ = world;
  await world.consumer("two", { queue: other }).start();
  await world.send("mine");
  await sendTo(other, world, "theirs");
  await world.pass(3_000);
  expect(await world.depth(world.deadLetters)).toBe(2);
  expect(await drop(world, "work")).toMatchObject([{ kind: "dropped" }]);
  const remaining = await listIn(world, {}, "peek");
  expect(remaining).toMatchObject([{ copies: 1, dossier: { queue: "other" } }]);
  expect(await drop(world, "other")).toMatchObject([{ kind: "dropped" }]);
  expect(await listIn(world, {}, "peek")).toEqual([]);
});

test("messages that SQS moved from another source are neither dropped nor redriven", async () => {
  const { world, other } = await twoSources();
  await using _ = world;
  await sendTo(other, world, "theirs");
  const request = { max: 1, waitMs: 0 as never, visibilityMs: 0 as never };
  for (let receives = 0; receives < 4; receives += 1) {
    await other.receive(request, new AbortController().signal);
  }
  expect(await world.depth(world.deadLetters)).toBe(1);
  expect(await drop(world, "work")).toEqual([]);
  expect((await runRedrive(world)).summary).toMatchObject({ sent: 0, missing: 0 });
  expect(await world.deadLetters.facts()).toMatchObject({ visible: 1, hidden: 0 });
  expect(await drop(world, "other")).toMatchObject([{ kind: "dropped" }]);
});

test("a redrive of one source does not report the other's dead letters as missing", async () => {
  const { world, other } = await twoSources();
  await using _ = world;
  await world.consumer("two", { queue: other }).start();
  await sendTo(other, world, "theirs");
  await world.pass(3_000);
  broken.yes = false;
  expect((await runRedrive(world)).summary).toMatchObject({ sent: 0, missing: 0, stopped: null });
  const ports = { ...redrivePorts(world), source: other };
  expect((await runRedrive(world, {}, ports)).summary).toMatchObject({ sent: 1, committed: 1 });
});

test("a possible bare dead letter of another pipeline is not dropped or redriven", async () => {
  const { world } = await twoSources();
  await using _ = world;
  const body = "x".repeat(SQS_MESSAGE_BYTES_MAX);
  await world.deadLetters.sendBatch([{ body, attributes: {}, groupId: null, dedupId: null }]);
  expect(await drop(world, "work")).toEqual([]);
  expect((await runRedrive(world)).summary).toMatchObject({ sent: 0, refused: 0 });
  expect(await world.deadLetters.facts()).toMatchObject({ visible: 1, hidden: 0 });
});
