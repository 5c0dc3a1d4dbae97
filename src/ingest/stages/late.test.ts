import { expect, test } from "vitest";
import {
  type ConsumerWorld,
  type ConsumerWorldOptions,
  createConsumerWorld,
} from "../../../test/support/consumer-world.ts";
import { createBrokerQueue } from "../../cloud/broker-queue.ts";
import { TidegateError } from "../../core/errors.ts";
import { buildEnvelope } from "../../core/events/envelope.ts";
import { addMs, minutes } from "../../core/units.ts";
import type { Ledger } from "../../ports/ledger.ts";
import type { QueueSender } from "../../ports/queue.ts";
import { createMemoryLedger } from "../../stores/memory/ledger.ts";
import { listHeld, releaseHeld } from "../late/release.ts";
import { sweepHeld } from "../late/sweep-held.ts";

const SCOPE = { pipeline: "test", generation: 0 };
const POLICY = { outOfOrderMs: 0, allowedLatenessMs: minutes(5) };

/** Sends an event whose event time is that many minutes before now. */
async function sendOld(world: ConsumerWorld, key: string, ago: number, payload = {}) {
  const eventTime = addMs(world.cloud.clock.now(), minutes(-ago));
  const source = "test.unit.world";
  const built = buildEnvelope({ source, dedupeKey: key, eventTime, payload });
  if (built.kind === "invalid") throw new Error(JSON.stringify(built.problems));
  await world.sendBody(built.value.body);
}

/** A world whose watermark is at its start, with a list of what was handled. */
async function lateWorld(late: unknown, options: ConsumerWorldOptions = {}) {
  const handled: string[] = [];
  const world = await createConsumerWorld({
    handler: ({ envelope }, { lane }) => void handled.push(`${envelope.dedupe_key} ${lane}`),
    pipeline: { eventTime: { ...POLICY, late } } as never,
    ...options,
  });
  const consumer = world.consumer();
  await consumer.start();
  await world.send("now");
  await world.pass(3_000);
  return { world, consumer, handled, [Symbol.asyncDispose]: () => world[Symbol.asyncDispose]() };
}

async function heldIn(ledger: Ledger) {
  const all = [];
  for await (const each of listHeld(ledger, SCOPE)) all.push(each);
  return all;
}

async function release({ ledger, queue, cloud }: ConsumerWorld, runId = "run") {
  const events = [];
  const ports = { clock: cloud.clock, ledger, source: queue };
  for await (const event of releaseHeld(ports, { scope: SCOPE, runId })) events.push(event.kind);
  return events;
}

test("on time, late within the allowance, too late: only the last is held", async () => {
  await using late = await lateWorld("hold");
  await sendOld(late.world, "allowed", 4);
  await sendOld(late.world, "old", 60);
  await late.world.pass(3_000);
  expect(late.handled).toEqual(["now live", "allowed late"]);
  expect(late.consumer.snapshot()).toMatchObject({ committed: 2, held: 1 });
  expect(await late.world.depth()).toBe(0);
  const [held] = await heldIn(late.world.ledger);
  expect(held).toMatchObject({ state: "held", note: { about: "old", lane: "too-late" } });
});

test("two releases at once count each record once, and send it once (R6 of release.ts)", async () => {
  await using late = await lateWorld("hold");
  const keys = ["a", "b", "c", "d"];
  for (const key of keys) await sendOld(late.world, key, 60);
  await late.world.pass(3_000);
  const [one, two] = await Promise.all([release(late.world, "1"), release(late.world, "2")]);
  expect([...one, ...two]).toEqual(keys.map(() => "released"));
  expect(await late.world.depth()).toBe(keys.length);
  await late.world.pass(3_000);
  expect(late.handled.toSorted()).toEqual([...keys.map((key) => `${key} too-late`), "now live"]);
});

test("a released record is processed once, in its recorded lane (L4)", async () => {
  await using late = await lateWorld("hold");
  await sendOld(late.world, "old", 60);
  await late.world.pass(3_000);
  expect(await release(late.world)).toEqual(["released"]);
  await late.world.pass(3_000);
  expect(late.handled).toEqual(["now live", "old too-late"]);
  expect(await heldIn(late.world.ledger)).toEqual([]);
  expect(await release(late.world, "again")).toEqual([]);
  const notes = await late.world.ledger.listNotes(SCOPE, "held", { after: null, limit: 10 });
  expect(notes).toEqual([]);
});

test("a duplicate of a held record is acknowledged, and the record stays held (L5)", async () => {
  await using late = await lateWorld("hold");
  const eventTime = addMs(late.world.cloud.clock.now(), minutes(-60));
  const input = { source: "test.unit.world", dedupeKey: "old", eventTime, payload: {} };
  const built = buildEnvelope(input);
  if (built.kind === "invalid") throw new Error();
  for (let at = 0; at < 3; at += 1) {
    await late.world.sendBody(built.value.body);
    await late.world.pass(3_000);
  }
  expect(late.consumer.snapshot()).toMatchObject({ held: 1, duplicates: 2 });
  expect(await late.world.depth()).toBe(0);
  expect(await heldIn(late.world.ledger)).toHaveLength(1);
});

test("a message of a megabyte is held in parts and released unchanged", async () => {
  const sizes: number[] = [];
  await using late = await lateWorld("hold", {
    handler: ({ payload }) => void sizes.push(JSON.stringify(payload).length),
  });
  const text = "ä😀".repeat(150_000);
  await sendOld(late.world, "big", 60, { text });
  await late.world.pass(3_000);
  const limit = { after: null, limit: 100 };
  const notes = await late.world.ledger.listNotes(SCOPE, "held", limit);
  expect(notes.length).toBeGreaterThan(3);
  expect(await release(late.world)).toEqual(["released"]);
  await late.world.pass(3_000);
  expect(sizes.at(-1)).toBe(JSON.stringify({ text }).length);
  expect((await late.world.ledger.listNotes(SCOPE, "held", limit)).length).toBe(1);
});

test("held records outlive the retention of the ledger, also while no pipeline runs", async () => {
  const retentionMs = minutes(24 * 60);
  await using late = await lateWorld("hold", {
    ledger: ({ clock }) => createMemoryLedger({ clock }, { retentionMs }),
  });
  const { world } = late;
  await sendOld(world, "old", 60);
  await world.pass(3_000);
  await world.cloud.clock.advance(2 * retentionMs);
  await world.ledger.purge(1_000);
  expect(await sweepHeld({ clock: world.cloud.clock, ledger: world.ledger }, SCOPE)).toBe(1);
  expect(await release(world)).toEqual(["released"]);
  await world.pass(3_000);
  expect(late.handled).toContain("old too-late");
  expect(await sweepHeld({ clock: world.cloud.clock, ledger: world.ledger }, SCOPE)).toBe(0);
  expect(await world.ledger.findNote(SCOPE, "held", "any")).toBeUndefined();
});

/** A ledger and a queue that fail at the call with that number, before or after its effect. */
function crashing(world: ConsumerWorld, failAt: number, after: boolean) {
  let calls = 0;
  const guard = async <T>(run: () => Promise<T>): Promise<T> => {
    calls += 1;
    const isDue = calls === failAt;
    if (isDue && !after) throw new TidegateError("TG_CLOSED", "crashed");
    const result = await run();
    if (isDue) throw new TidegateError("TG_CLOSED", "crashed");
    return result;
  };
  const ledger: Ledger = {
    ...world.ledger,
    addNotes: (scope, notes) => guard(() => world.ledger.addNotes(scope, notes)),
    reopen: (scope, keys) => guard(() => world.ledger.reopen(scope, keys)),
    removeNotes: (scope, kind, names) => guard(() => world.ledger.removeNotes(scope, kind, names)),
  };
  const source: QueueSender = {
    ...world.queue,
    sendBatch: (messages) => guard(() => world.queue.sendBatch(messages)),
  };
  return { ledger, source, calls: () => calls };
}

test.each([1, 2, 3, 4].flatMap((at) => [[at, false] as const, [at, true] as const]))(
  "a release that crashes at call %i (after its effect: %s) loses nothing and applies once",
  async (at, after) => {
    await using late = await lateWorld("hold");
    await sendOld(late.world, "old", 60);
    await late.world.pass(3_000);
    const broken = crashing(late.world, at, after);
    const ports = { ...broken, clock: late.world.cloud.clock };
    const kinds = [];
    for await (const { kind } of releaseHeld(ports, { scope: SCOPE, runId: "1" })) kinds.push(kind);
    expect(broken.calls()).toBeGreaterThanOrEqual(at);
    await late.world.pass(3_000);
    await release(late.world, "2");
    await late.world.pass(3_000);
    expect(late.handled).toEqual(["now live", "old too-late"]);
    expect(await late.world.depth()).toBe(0);
  },
);

const lateQueueOf: NonNullable<ConsumerWorldOptions["lateQueue"]> = ({ broker }) =>
  createBrokerQueue(broker, { queue: "slow" });

test("a late queue that does not exist delays the record and loses nothing (L3)", async () => {
  await using late = await lateWorld({ queue: "slow" }, { lateQueue: lateQueueOf });
  const { world } = late;
  await sendOld(world, "old", 60);
  await world.pass(10_000);
  expect(await world.depth()).toBe(1);
  expect(world.logs.map(({ message }) => message).join()).toContain(
    "the late queue slow did not take a record: slow: QueueDoesNotExist",
  );
  await world.cloud.broker.submit("createQueue", { name: "slow", attributes: {}, tags: {} });
  await world.pass(minutes(20));
  expect(await world.depth()).toBe(0);
  expect(late.consumer.snapshot()).toMatchObject({ held: 1, deadLettered: 0, retried: 0 });
  const slow = createBrokerQueue(world.cloud.broker, { queue: "slow" });
  expect(await world.depth(slow)).toBe(1);
});

test("the same pipeline processes the late queue, and sends nothing on (L4)", async () => {
  await using late = await lateWorld({ queue: "slow" }, { lateQueue: lateQueueOf });
  const { world } = late;
  await world.cloud.broker.submit("createQueue", { name: "slow", attributes: {}, tags: {} });
  await sendOld(world, "old", 60);
  await world.pass(3_000);
  expect(late.handled).toEqual(["now live"]);
  const slow = createBrokerQueue(world.cloud.broker, { queue: "slow" });
  await world.consumer("late-worker", { queue: slow }).start();
  await world.pass(10_000);
  expect(late.handled).toEqual(["now live", "old too-late"]);
  expect(await world.depth(slow)).toBe(0);
});

test("a retry keeps the lane of the first attempt, although the watermark has moved", async () => {
  const lanes: string[] = [];
  await using world = await createConsumerWorld({
    handler: ({ envelope }, { lane, attempt }) => {
      lanes.push(`${envelope.dedupe_key} ${attempt} ${lane}`);
      if (envelope.dedupe_key === "flaky" && attempt < 2) throw new Error("not yet");
    },
    pipeline: {
      eventTime: { ...POLICY, late: "hold" },
      retry: { baseMs: minutes(10), capMs: minutes(10) },
    },
  } as ConsumerWorldOptions);
  await world.consumer().start();
  await world.send("flaky");
  await world.pass(minutes(9));
  await world.send("new");
  await world.pass(minutes(11));
  expect(lanes).toContain("flaky 2 live");
});
