// Dead letters of own messages, read without their pipeline: their bodies do not show their keys.

import { expect, test } from "vitest";
import { durationMs } from "../../../src/core/units.ts";
import { createDeadLetterAccess } from "../../../src/ingest/dead-letters/dead-letter-access.ts";
import { PermanentError } from "../../../src/ingest/spec/handler-errors.ts";
import { openOperator } from "../../../src/operate/open-operator.ts";
import { systemRandom } from "../../../src/platform/system-random.ts";
import { depths, run } from "../../support/consumer-looks.ts";
import { type ConsumerWorld, createConsumerWorld } from "../../support/consumer-world.ts";

const KEY = "accounts-2026-02-28";
const MIB = 1_048_576;
const scope = { pipeline: "test", generation: 0 };

async function failingWorld(): Promise<ConsumerWorld & { broken: boolean; handled: unknown[] }> {
  const state = { broken: true, handled: [] as unknown[] };
  const world = await createConsumerWorld({
    handler: ((event: { key: string }) => {
      if (state.broken) throw new PermanentError("not yet");
      state.handled.push(event.key);
    }) as never,
    pipeline: { source: { queue: "work", key: (body: { id: string }) => body.id } } as never,
  });
  return Object.assign(state, world);
}

/** Access as the commands have it, which know the name of the pipeline only. */
function accessOf({ cloud, ledger, queue, deadLetters }: ConsumerWorld) {
  return createDeadLetterAccess({
    clock: cloud.clock,
    random: systemRandom,
    reader: async () => ledger,
    writer: async () => ledger,
    scopes: async () => [scope],
    scope: async () => scope,
    own: async () => null,
    queues: async () => ({ queue, deadLetters }),
  });
}

function redrive(world: ConsumerWorld, key?: string) {
  const filter = key === undefined ? {} : { key };
  return inTime(world, accessOf(world).redrive(filter, { followMs: 60_000 }).result());
}

/** Moves time on until a call ends. */
async function inTime<T>(world: ConsumerWorld, ended: Promise<T>): Promise<T> {
  let running = true;
  void ended.finally(() => {
    running = false;
  });
  while (running) await world.pass(1_000);
  return ended;
}

test.each([
  ["with attributes", ""],
  ["too large for attributes", "x".repeat(MIB - 100)],
])("a dead letter %s is redriven by its business key alone", async (_, pad) => {
  const world = await failingWorld();
  await using _disposed = world;
  const body = JSON.stringify({ id: KEY, pad });
  await world.sendBody(body);
  await world.sendBody(JSON.stringify({ id: "other" }));
  await run(world);
  expect(await depths(world)).toEqual([0, 2]);
  world.broken = false;
  expect(await redrive(world, KEY)).toMatchObject({ sent: 1, committed: 1, waiting: 0 });
  expect(world.handled).toEqual([KEY]);
  expect(await depths(world)).toEqual([0, 1]);
});

test("a dead letter is dropped by its business key, and only it", async () => {
  const world = await failingWorld();
  await using _disposed = world;
  for (const id of [KEY, "other"]) await world.sendBody(JSON.stringify({ id }));
  await run(world);
  expect(await inTime(world, accessOf(world).drop({ key: KEY }).result())).toMatchObject({
    dropped: 1,
  });
  const rest = [];
  for await (const entry of accessOf(world).list()) rest.push(entry.businessKey);
  expect(rest).toEqual(["other"]);
});

test("a message is found by its business key in every state", async () => {
  const world = await failingWorld();
  await using _disposed = world;
  const { history } = openOperator({ ledger: world.ledger });
  const stateOf = async () => (await history.find(KEY))[0]?.state;
  await world.sendBody(JSON.stringify({ id: KEY }));
  expect(await stateOf()).toBeUndefined();
  await run(world);
  expect(await stateOf()).toBe("parked");
  world.broken = false;
  await redrive(world);
  expect(await stateOf()).toBe("committed");
  expect(await history.find("accounts")).toHaveLength(1); // A part of it.
  expect(await history.find("orders")).toEqual([]);
});

test("a dead letter that was moved back by hand is tried under its key", async () => {
  const world = await failingWorld();
  await using _disposed = world;
  await world.sendBody(JSON.stringify({ id: KEY }));
  await run(world);
  const request = { max: 1, waitMs: durationMs(0), visibilityMs: durationMs(30_000) };
  const [letter] = await world.deadLetters.receive(request, new AbortController().signal);
  if (letter === undefined) throw new Error("the dead letter is missing");
  const { body, attributes } = letter;
  world.broken = false;
  await world.queue.sendBatch([{ body, attributes, groupId: null, dedupId: null }]);
  await world.pass(10_000);
  expect(world.handled).toEqual([KEY]);
});
