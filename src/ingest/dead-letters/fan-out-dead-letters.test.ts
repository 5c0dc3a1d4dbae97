// One event in two queues, consumed by two pipelines that share a dead-letter queue: each ignores
// the dead letters of the other, even if they are bare and do not name their pipeline (X4, R4).

import { describe, expect, test } from "vitest";
import { collect } from "../../../test/support/byte-sources.ts";
import { type ConsumerWorld, createConsumerWorld } from "../../../test/support/consumer-world.ts";
import {
  inTime,
  listIn,
  redrivePorts,
  runRedrive,
} from "../../../test/support/dead-letter-world.ts";
import { createBrokerQueue } from "../../cloud/broker-queue.ts";
import { buildEnvelope } from "../../core/events/envelope.ts";
import { SQS_MESSAGE_BYTES_MAX } from "../../core/limits.ts";
import type { EpochMs } from "../../core/units.ts";
import { durationMs } from "../../core/units.ts";
import type { Queue } from "../../ports/queue-receiver.ts";
import { pipeline } from "../spec/define-pipeline.ts";
import { PermanentError } from "../spec/handler-errors.ts";
import { decodeDossier } from "./dossier.ts";
import { dropDeadLetters } from "./drop-dead-letters.ts";

const FIRST = { pipeline: "test", generation: 0 };
const SECOND = { pipeline: "second", generation: 0 };

function bodyOf(eventTime: EpochMs, bytes: number): string {
  const build = (pad: string) => {
    const built = buildEnvelope({
      source: "test.unit.world",
      dedupeKey: "big",
      eventTime,
      payload: { pad },
    });
    if (built.kind === "invalid") throw new Error(JSON.stringify(built.problems));
    return built.value.body;
  };
  return build("x".repeat(bytes - build("").length));
}

/** The same message in `work` and in `other`; `fails` says which pipeline fails. */
async function fanOut(
  name: string,
  fails: { first: boolean; second: boolean },
  bytesMax: number = SQS_MESSAGE_BYTES_MAX,
) {
  const failWhile = (which: "first" | "second") => () => {
    if (fails[which]) throw new PermanentError(which, { class: which });
  };
  const world = await createConsumerWorld({ queue: name, handler: failWhile("first") });
  const { broker, clock } = world.cloud;
  const otherName = name.replace("work", "other");
  const attributes: Record<string, string> = world.queue.fifo ? { FifoQueue: "true" } : {};
  await broker.submit("createQueue", { name: otherName, attributes, tags: {} });
  const other = createBrokerQueue(broker, { queue: otherName });
  const spec = pipeline({
    name: SECOND.pipeline,
    source: { queue: otherName },
    handler: failWhile("second") as never,
    onPoison: "skip",
  } as never);
  const limit = { MaximumMessageSize: String(bytesMax) };
  for (const { name: queue } of [world.queue, other, world.deadLetters]) {
    await broker.submit("setQueueAttributes", { queue, attributes: limit });
  }
  const body = bodyOf(clock.now(), bytesMax);
  const [groupId, dedupId] = world.queue.fifo ? ["g", "d"] : [null, null];
  for (const queue of [world.queue, other]) {
    await queue.sendBatch([{ body, attributes: {}, groupId, dedupId }]);
  }
  await world.consumer("one").start();
  await world.consumer("two", { queue: other, pipeline: spec }).start();
  await world.pass(3_000);
  return { world, other };
}

function drop(world: ConsumerWorld, scope: typeof FIRST, source: Queue) {
  const { cloud, ledger, deadLetters } = world;
  const ports = { clock: cloud.clock, ledger, deadLetters, source: world.queue };
  return inTime(world, collect(dropDeadLetters(ports, { scope, source: source.name })));
}

async function deadLetterIds(world: ConsumerWorld): Promise<string[]> {
  const request = { max: 10, waitMs: durationMs(0), visibilityMs: durationMs(0) };
  const deadLetters = await world.deadLetters.receive(request, new AbortController().signal);
  return deadLetters.map(({ messageId }) => messageId);
}

async function namedBy(world: ConsumerWorld, scope: typeof FIRST): Promise<string | undefined> {
  const [note] = await world.ledger.listNotes(scope, "dossier", { after: null, limit: 10 });
  return note && decodeDossier(note.body).dead_letter?.message_id;
}

describe.each([
  ["drop", SQS_MESSAGE_BYTES_MAX],
  ["redrive", SQS_MESSAGE_BYTES_MAX],
  ["drop", 262_144],
  ["redrive", 262_144],
])("a %s of the first pipeline, with dead letters of %d bytes,", (act, bytesMax) => {
  async function actOnFirst(world: ConsumerWorld) {
    if (act === "drop") return drop(world, FIRST, world.queue);
    const { events } = await runRedrive(world, { followMs: durationMs(5_000) });
    return events.filter(({ kind }) => kind !== "ended");
  }

  test("ignores the dead letter of the second when the first has committed", async () => {
    const fails = { first: false, second: true };
    const { world, other } = await fanOut("work", fails, bytesMax);
    await using _ = world;
    const theirs = await namedBy(world, SECOND);
    expect(await deadLetterIds(world)).toEqual([theirs]);
    expect(await actOnFirst(world)).toEqual([]);
    expect(await listIn(world, {}, "peek")).toEqual([]);
    expect(await deadLetterIds(world)).toEqual([theirs]);
    fails.second = false;
    const ports = { ...redrivePorts(world), source: other };
    const { summary } = await runRedrive(world, { scope: SECOND }, ports);
    expect(summary).toMatchObject({ sent: 1, committed: 1, missing: 0 });
  });

  test("touches only its own dead letter when both have dead-lettered the event", async () => {
    const fails = { first: true, second: true };
    const { world, other } = await fanOut("work", fails, bytesMax);
    await using _ = world;
    const [ours, theirs] = [await namedBy(world, FIRST), await namedBy(world, SECOND)];
    expect((await deadLetterIds(world)).toSorted()).toEqual([ours, theirs].toSorted());
    fails.first = false;
    expect(await actOnFirst(world)).toHaveLength(1);
    expect(await deadLetterIds(world)).toEqual([theirs]);
    expect(await drop(world, SECOND, other)).toMatchObject([{ item: { errorClass: "second" } }]);
    expect(await deadLetterIds(world)).toEqual([]);
  });
});

test("a copy that no dossier names is ignored, because its pipeline is unknown", async () => {
  const { world } = await fanOut("work", { first: true, second: false });
  await using _ = world;
  const body = bodyOf(world.cloud.clock.now(), SQS_MESSAGE_BYTES_MAX);
  await world.deadLetters.sendBatch([{ body, attributes: {}, groupId: null, dedupId: null }]);
  expect(await deadLetterIds(world)).toHaveLength(2);
  expect(await drop(world, FIRST, world.queue)).toHaveLength(1);
  expect(await deadLetterIds(world)).toHaveLength(1);
});

test("a copy in a FIFO queue is identified by its deduplication id", async () => {
  const { world, other } = await fanOut("work.fifo", { first: false, second: true });
  await using _ = world;
  const { deadLetters, ledger } = world;
  const request = { max: 1, waitMs: durationMs(0), visibilityMs: durationMs(0) };
  const [deadLetter] = await deadLetters.receive(request, new AbortController().signal);
  const { body = "", groupId = null, dedupId = null } = deadLetter ?? {};
  expect(dedupId).not.toBe(null);
  await world.pass(400_000); // The queue has forgotten the dedup id by then.
  await deadLetters.sendBatch([{ body, attributes: {}, groupId, dedupId }]);
  expect(await world.depth(deadLetters)).toBe(2);
  expect(await drop(world, FIRST, world.queue)).toEqual([]);
  expect(await drop(world, SECOND, other)).toMatchObject([{ kind: "dropped" }]);
  expect(await world.depth(deadLetters)).toBe(0);
  expect(await ledger.listNotes(SECOND, "dossier", { after: null, limit: 10 })).toEqual([]);
});
