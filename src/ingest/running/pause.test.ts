import { expect, test } from "vitest";
import { createConsumerWorld } from "../../../test/support/consumer-world.ts";
import { days, epochMs } from "../../core/units.ts";
import { endPause, findPause, PAUSE_LOOK_MS, setPause } from "./pause.ts";

const pauseAt = (since: number, reason = "") => ({ since: epochMs(since), by: "ops", reason });

async function pausableWorld(options: Parameters<typeof createConsumerWorld>[0] = {}) {
  const world = await createConsumerWorld(options);
  const { name: pipeline, generation } = world.pipeline;
  const scope = { pipeline, generation };
  const pause = (reason?: string) =>
    setPause(world.ledger, scope, pauseAt(world.cloud.clock.now(), reason));
  return { world, scope, pause, resume: () => endPause(world.ledger, scope) };
}

test("a paused pipeline receives nothing, and continues after the resume", async () => {
  const handled: string[] = [];
  const { world, pause, resume } = await pausableWorld({
    handler: ({ envelope }) => void handled.push(envelope.dedupe_key),
  });
  await using _ = world;
  const consumer = world.consumer();
  await consumer.start();
  await pause("sink migration");
  await world.pass(PAUSE_LOOK_MS);
  for (const key of ["a", "b", "c"]) await world.send(key);
  await world.pass(600_000);
  expect(handled).toEqual([]);
  expect(consumer.snapshot().paused).toMatchObject({ by: "ops", reason: "sink migration" });
  expect(await world.depth()).toBe(3);
  await resume();
  await world.pass(30_000);
  expect(handled.toSorted()).toEqual(["a", "b", "c"]);
  expect(await world.depth()).toBe(0);
  expect(consumer.snapshot().paused).toBeNull();
  const changes = world.logs.filter(({ message }) => message.includes("the pipeline"));
  expect(changes.map(({ message }) => message)).toEqual([
    "the pipeline is paused; nothing is received until it is resumed",
    "the pipeline was resumed; receiving continues",
  ]);
});

test("a record in progress finishes, and prefetched records are returned uncounted", async () => {
  const begun: string[] = [];
  let release = () => {};
  const { world, pause, resume } = await pausableWorld({
    pipeline: { concurrency: { total: 1 } },
    handler: ({ envelope }) => {
      begun.push(envelope.dedupe_key);
      return new Promise<void>((resolve) => {
        release = resolve;
      });
    },
  });
  await using _ = world;
  for (const key of ["a", "b", "c"]) await world.send(key);
  const consumer = world.consumer();
  await consumer.start();
  await world.pass(1_000);
  expect(consumer.snapshot()).toMatchObject({ inFlight: 1, waiting: 2 });
  await pause();
  await world.pass(PAUSE_LOOK_MS);
  expect(consumer.snapshot()).toMatchObject({ inFlight: 1, waiting: 0, returned: 2 });
  release();
  await world.pass(60_000);
  expect(begun).toHaveLength(1);
  expect(consumer.snapshot()).toMatchObject({ committed: 1, retried: 0, inFlight: 0 });
  expect(await world.depth()).toBe(2);
  await resume();
  for (let round = 0; round < 3; round += 1) {
    await world.pass(5_000);
    release();
  }
  await world.pass(5_000);
  expect(begun.toSorted()).toEqual(["a", "b", "c"]);
});

test("a pause survives a restart: a new consumer does not receive", async () => {
  const { world, pause } = await pausableWorld();
  await using _ = world;
  await pause();
  await world.send("a");
  const consumer = world.consumer();
  await consumer.start();
  await world.pass(60_000);
  expect(consumer.snapshot()).toMatchObject({ received: 0 });
  await expect(consumer.emptied).resolves.toBeUndefined();
});

test("a pause outlives the retention of the ledger", async () => {
  const { world, pause, scope } = await pausableWorld();
  await using _ = world;
  await pause();
  await world.pass(1_000);
  world.cloud.clock.advance(days(400));
  await world.ledger.purge(1_000);
  expect(await findPause(world.ledger, scope)).not.toBeNull();
});

test("a ledger that does not answer neither pauses nor resumes a pipeline", async () => {
  const { world, pause } = await pausableWorld();
  await using _ = world;
  let down = false;
  const ledger = {
    ...world.ledger,
    findNote: (...call: Parameters<typeof world.ledger.findNote>) =>
      down ? Promise.reject(new Error("down")) : world.ledger.findNote(...call),
  };
  const consumer = world.consumer("other", { ledger });
  await pause();
  await consumer.start();
  down = true;
  await world.pass(60_000);
  expect(consumer.snapshot().paused).not.toBeNull();
});

test("a second pause keeps the time and the reason of the first", async () => {
  const { world, scope } = await pausableWorld();
  await using _ = world;
  const now = world.cloud.clock.now();
  await setPause(world.ledger, scope, pauseAt(now, "first"));
  await setPause(world.ledger, scope, pauseAt(now + 60_000, "second"));
  expect(await findPause(world.ledger, scope)).toEqual(pauseAt(now, "first"));
  expect(await endPause(world.ledger, scope)).toEqual(pauseAt(now, "first"));
  expect(await endPause(world.ledger, scope)).toBeNull();
});
