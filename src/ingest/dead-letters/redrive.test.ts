import { expect, test } from "vitest";
import { createConsumerWorld } from "../../../test/support/consumer-world.ts";
import {
  inTime,
  listIn,
  redrivePorts,
  runRedrive,
  SCOPE,
} from "../../../test/support/dead-letter-world.ts";
import { buildEnvelope } from "../../core/events/envelope.ts";
import { durationMs, minutes } from "../../core/units.ts";
import type { Ledger } from "../../ports/ledger.ts";
import type { OutgoingMessage } from "../../ports/queue.ts";
import { PermanentError } from "../spec/handler-errors.ts";
import { CONCURRENT_READS_MAX } from "./show-records.ts";

/** A handler that fails until `state.broken` is false. */
function failingHandler(errorClass: (key: string) => string = () => "schema") {
  const state = { broken: true, applied: [] as string[] };
  const handler = ({ envelope }: { envelope: { dedupe_key: string } }) => {
    const key = envelope.dedupe_key;
    if (state.broken) throw new PermanentError(`no ${key}`, { class: errorClass(key) });
    state.applied.push(key);
  };
  return { state, handler };
}

async function parkedWorld(count: number, options: Parameters<typeof createConsumerWorld>[0] = {}) {
  const world = await createConsumerWorld(options);
  for (let at = 0; at < count; at += 1) await world.send(`k${at}`, { at });
  const consumer = world.consumer();
  await consumer.start();
  await world.pass(2_000);
  return { world, consumer };
}

test("a redriven record is applied once under its own key, and its dossier removed", async () => {
  const { state, handler } = failingHandler();
  const { world } = await parkedWorld(3, { handler });
  await using _ = world;
  const before = await listIn(world);
  expect(before.map(({ state }) => state)).toEqual(["parked", "parked", "parked"]);
  state.broken = false;
  const { summary, events } = await runRedrive(world);
  expect(summary).toMatchObject({ sent: 3, committed: 3, failedAgain: 0, stopped: null });
  expect(state.applied.toSorted()).toEqual(["k0", "k1", "k2"]);
  expect(await world.depth(world.deadLetters)).toBe(0);
  expect(await world.depth()).toBe(0);
  expect(await listIn(world)).toEqual([]);
  for (const { key } of before) {
    const view = await world.ledger.show(SCOPE, key);
    expect(view?.record.kind).toBe("committed");
    expect(view?.entries.map(({ status }) => status)).toContain("reopened");
  }
  expect(events.map(({ item }) => item.key)).toEqual(
    expect.arrayContaining(before.map(({ key }) => key)),
  );
});

test("dead letters that do not match the filter stay and are visible immediately", async () => {
  const { state, handler } = failingHandler((key) => (key === "k1" ? "schema" : "governance"));
  const { world } = await parkedWorld(4, { handler });
  await using _ = world;
  state.broken = false;
  const { summary } = await runRedrive(world, { filter: { errorClass: "schema" } });
  expect(summary).toMatchObject({ sent: 1, committed: 1 });
  expect(state.applied).toEqual(["k1"]);
  expect(await world.deadLetters.facts()).toMatchObject({ visible: 3, hidden: 0 });
  expect((await listIn(world)).map(({ errorClass }) => errorClass)).toEqual(
    Array.from({ length: 3 }, () => "governance"),
  );
});

test("a dry run reports what it would redrive and changes neither ledger nor queues", async () => {
  const { handler } = failingHandler();
  const { world } = await parkedWorld(3, { handler });
  await using _ = world;
  const before = await listIn(world, {}, "peek");
  const { summary } = await runRedrive(world, { dryRun: true });
  expect(summary).toMatchObject({ planned: 3, sent: 0, reopened: 0 });
  expect(await listIn(world, {}, "peek")).toEqual(before);
  expect(await world.deadLetters.facts()).toMatchObject({ visible: 3, hidden: 0 });
});

test("a run stops by itself when too many fail again, and leaves the rest", async () => {
  const { handler } = failingHandler();
  const { world } = await parkedWorld(30, { handler });
  await using _ = world;
  const { summary } = await runRedrive(world, { perSecond: 1 });
  expect(summary.stopped).toBe("too-many-failed");
  expect(summary.failedAgain).toBeGreaterThanOrEqual(5);
  expect(summary.sent).toBeLessThan(30);
  expect(await world.depth(world.deadLetters)).toBe(30);
  expect(await listIn(world)).toHaveLength(30);
});

test("a record that fails again during a run is not redriven twice by that run", async () => {
  const { handler } = failingHandler();
  const { world } = await parkedWorld(3, { handler });
  await using _ = world;
  const { summary } = await runRedrive(world, { perSecond: 1 });
  expect(summary).toMatchObject({ sent: 3, failedAgain: 3, stopped: null });
  const [deadLetter] = await listIn(world);
  expect((await world.ledger.findNote(SCOPE, "dossier", deadLetter?.key ?? ""))?.count).toBe(2);
});

test("a redrive respects its rate and its limit", async () => {
  const { state, handler } = failingHandler();
  const { world } = await parkedWorld(12, { handler });
  await using _ = world;
  state.broken = false;
  const sentAt: number[] = [];
  const ports = redrivePorts(world);
  const source = {
    ...ports.source,
    sendBatch(messages: readonly OutgoingMessage[]) {
      sentAt.push(world.cloud.clock.now());
      return ports.source.sendBatch(messages);
    },
  };
  const { summary } = await runRedrive(world, { perSecond: 2, limit: 7 }, { ...ports, source });
  expect(summary).toMatchObject({ sent: 7, committed: 7 });
  const gaps = sentAt.slice(1).map((at, n) => at - (sentAt[n] ?? 0));
  expect(Math.min(...gaps)).toBeGreaterThanOrEqual(500);
  expect(await world.depth(world.deadLetters)).toBe(5);
});

test("two copies of one dead letter are sent back once and both are deleted", async () => {
  const { state, handler } = failingHandler();
  const { world } = await parkedWorld(1, { handler });
  await using _ = world;
  const [delivery] = await inTime(
    world,
    world.deadLetters.receive(
      { max: 1, waitMs: durationMs(0), visibilityMs: durationMs(0) },
      new AbortController().signal,
    ),
  );
  if (delivery === undefined) throw new Error("dead letter missing");
  const { body, attributes } = delivery;
  await world.deadLetters.sendBatch([{ body, attributes, groupId: null, dedupId: null }]);
  expect((await listIn(world, {}, "peek")).map(({ copies }) => copies)).toEqual([2]);
  state.broken = false;
  const { summary } = await runRedrive(world);
  expect(summary).toMatchObject({ sent: 1, committed: 1 });
  expect(await world.depth(world.deadLetters)).toBe(0);
});

test("FIFO groups are redriven in order, despite the queue's deduplication", async () => {
  const { state, handler } = failingHandler();
  const world = await createConsumerWorld({
    handler,
    queue: "work.fifo",
    pipeline: { onPoison: "skip" },
  });
  await using _ = world;
  for (let at = 0; at < 8; at += 1) await world.send(`k${at}`, {}, at % 2 === 0 ? "even" : "odd");
  await world.consumer().start();
  await world.pass(5_000);
  expect(await world.depth(world.deadLetters)).toBe(8);
  state.broken = false;
  const { summary } = await runRedrive(world); // Within five minutes of the first send.
  expect(summary).toMatchObject({ sent: 8, committed: 8 });
  const of = (rest: number) => state.applied.filter((key) => Number(key.slice(1)) % 2 === rest);
  expect(of(0)).toEqual(["k0", "k2", "k4", "k6"]);
  expect(of(1)).toEqual(["k1", "k3", "k5", "k7"]);
});

test("a halted record is reopened where it is, and its group continues within seconds", async () => {
  const { state, handler } = failingHandler();
  const world = await createConsumerWorld({ handler, queue: "work.fifo" });
  await using _ = world;
  for (const key of ["k0", "k1"]) await world.send(key, {}, "g");
  await world.consumer().start();
  await world.pass(5_000);
  expect(await world.depth(world.deadLetters)).toBe(0);
  state.broken = false;
  const startedAt = world.cloud.clock.now();
  const { summary } = await runRedrive(world);
  expect(summary).toMatchObject({ sent: 0, reopened: 1, committed: 1, waiting: 0 });
  await world.pass(2_000);
  expect(world.cloud.clock.now() - startedAt).toBeLessThan(10_000);
  expect(state.applied).toEqual(["k0", "k1"]);
  expect(await world.depth()).toBe(0);
  for (const kind of ["dossier", "halted"] as const) {
    expect(await world.ledger.listNotes(SCOPE, kind, { after: null, limit: 10 })).toEqual([]);
  }
});

test("a record without a consumer is reported as waiting after followMs", async () => {
  const { handler } = failingHandler();
  const { world, consumer } = await parkedWorld(2, { handler });
  await using _ = world;
  await inTime(world, consumer.drain());
  const { summary } = await runRedrive(world, { followMs: minutes(1) });
  expect(summary).toMatchObject({ sent: 2, waiting: 2, committed: 0 });
  expect(await world.depth()).toBe(2);
});

test("a redrive restores attributes that did not fit and removes those of Tidegate", async () => {
  const { handler } = failingHandler();
  const { world } = await parkedWorld(0, { handler });
  await using _ = world;
  const built = buildEnvelope({
    source: "test.unit.world",
    dedupeKey: "k",
    eventTime: world.cloud.clock.now(),
    payload: {},
  });
  const body = built.kind === "invalid" ? "" : built.value.body;
  const attributes = Object.fromEntries(Array.from({ length: 9 }, (_, at) => [`a${at}`, `v${at}`]));
  await world.queue.sendBatch([{ body, attributes, groupId: null, dedupId: null }]);
  await world.pass(3_000);
  const sent: OutgoingMessage[] = [];
  const ports = redrivePorts(world);
  const source = {
    ...ports.source,
    sendBatch(messages: readonly OutgoingMessage[]) {
      sent.push(...messages);
      return ports.source.sendBatch(messages);
    },
  };
  await runRedrive(world, {}, { ...ports, source });
  const marked = { ...attributes, "tidegate.redriven": "1" };
  expect(sent).toEqual([{ body, attributes: marked, groupId: null, dedupId: null }]);
});

test("a dead letter that the queue does not return is missing and stays parked", async () => {
  const { handler } = failingHandler();
  const { world } = await parkedWorld(1, { handler });
  await using _ = world;
  await world.cloud.broker.submit("purgeQueue", { queue: world.deadLetters.name });
  const { summary } = await runRedrive(world);
  expect(summary).toMatchObject({ sent: 0, missing: 1 });
  expect((await listIn(world)).map(({ state }) => state)).toEqual(["parked"]);
});

test("an interrupted run ends after the current item and returns the others", async () => {
  const { state, handler } = failingHandler();
  const { world } = await parkedWorld(5, { handler });
  await using _ = world;
  state.broken = false;
  const interrupt = new AbortController();
  const ports = redrivePorts(world);
  const source = {
    ...ports.source,
    sendBatch(messages: readonly OutgoingMessage[]) {
      interrupt.abort();
      return ports.source.sendBatch(messages);
    },
  };
  const { signal } = interrupt;
  const { summary } = await runRedrive(world, { signal }, { ...ports, source });
  expect(summary).toMatchObject({ sent: 1, stopped: "interrupted" });
  expect(await world.deadLetters.facts()).toMatchObject({ visible: 4, hidden: 0 });
  expect(await runRedrive(world)).toMatchObject({ summary: { sent: 4, stopped: null } });
  expect(state.applied.toSorted()).toEqual(["k0", "k1", "k2", "k3", "k4"]);
});

/** A ledger that counts reads of records, and how many run concurrently. */
function counted(ledger: Ledger) {
  const counts = { shown: 0, removed: 0, atOnce: 0, atOnceMax: 0 };
  const watched: Ledger = {
    ...ledger,
    async show(scope, key) {
      counts.shown += 1;
      counts.atOnce += 1;
      counts.atOnceMax = Math.max(counts.atOnceMax, counts.atOnce);
      await Promise.resolve();
      counts.atOnce -= 1;
      return ledger.show(scope, key);
    },
    removeNotes(scope, kind, names) {
      counts.removed += 1;
      return ledger.removeNotes(scope, kind, names);
    },
  };
  return { counts, watched };
}

test("the ledger is read in bounded batches, for followed records once a second (V6)", async () => {
  const DEAD_LETTERS = 60;
  const { state, handler } = failingHandler();
  const { world, consumer } = await parkedWorld(DEAD_LETTERS, { handler });
  await using _ = world;
  await inTime(world, consumer.drain());
  const { counts, watched } = counted(world.ledger);
  const startedAt = world.cloud.clock.now();
  const ports = { ...redrivePorts(world), ledger: watched };
  const options = {
    perSecond: 30,
    followMs: minutes(1),
    stop: { failuresMin: 1, failedShareMax: 1 },
  };
  const running = runRedrive(world, options, ports);
  await world.pass(10_000);
  // Each dead letter once when it is redriven, and each followed record once per poll.
  const polls = DEAD_LETTERS / 10 + (world.cloud.clock.now() - startedAt) / 1_000 + 1;
  expect(counts.shown).toBeLessThanOrEqual(DEAD_LETTERS * (polls + 1));
  expect(counts.atOnceMax).toBe(CONCURRENT_READS_MAX);
  expect(counts.removed).toBe(0);
  state.broken = false;
  await world.consumer("late").start();
  const { summary } = await running;
  expect(summary).toMatchObject({ sent: DEAD_LETTERS, committed: DEAD_LETTERS });
  expect(counts.removed).toBeLessThan(DEAD_LETTERS / 10); // Dossiers are removed in batches too.
  expect(await world.ledger.listNotes(SCOPE, "dossier", { after: null, limit: 100 })).toEqual([]);
});
