// T28: S3 answers 403 for a missing object to callers that may not list the bucket, so that it
// looks like a permission problem. And some users want missing objects dead-lettered, some dropped,
// some retried. Here the pipeline decides, and the two answers are distinguished.

import { expect, test } from "vitest";
import type { ObjectSource } from "../../src/ports/objects/object-source.ts";
import { type ConsumerWorld, createConsumerWorld } from "../support/consumer-world.ts";

type OnMissing = "dead-letter" | "drop" | "retry";

async function worldOf(onMissing: OnMissing, wrapObjects = (it: ObjectSource) => it) {
  const read: string[] = [];
  const world = await createConsumerWorld({
    bucket: "files",
    pipeline: { onMissing, retry: { attempts: 3, baseMs: 1_000, capMs: 1_000 } },
    handler: (async (event: { text(): Promise<string> }) => {
      read.push(await event.text());
    }) as never,
    wrapObjects,
  });
  return { world, read };
}

async function dossierOf(world: ConsumerWorld) {
  const page = { after: null, limit: 10 };
  const notes = await world.ledger.listNotes({ pipeline: "test", generation: 0 }, "dossier", page);
  return JSON.parse(notes[0]?.body ?? "{}");
}

test.each([
  ["dead-letter", { deadLettered: 1, retried: 0, dropped: 0 }, 1],
  ["drop", { deadLettered: 0, retried: 0, dropped: 1 }, 0],
  ["retry", { deadLettered: 1, retried: 2, dropped: 0 }, 1],
] as const)(
  "T28: with %s, a missing object is reported as missing",
  async (how, counts, deadLetters) => {
    const { world, read } = await worldOf(how);
    await using _ = world;
    await world.put("gone.txt", "one");
    await world.remove("gone.txt");
    const consumer = world.consumer();
    await consumer.start();
    await world.pass(20_000);
    expect(consumer.snapshot()).toMatchObject(counts);
    expect([await world.depth(), await world.depth(world.deadLetters)]).toEqual([0, deadLetters]);
    expect(read).toEqual([]);
    if (deadLetters > 0)
      expect(await dossierOf(world)).toMatchObject({ error_class: "missing-object" });
  },
);

test("T28: with retry, an object that comes back in time is read", async () => {
  const { world, read } = await worldOf("retry");
  await using _ = world;
  await world.put("late.txt", "one");
  await world.remove("late.txt");
  const consumer = world.consumer();
  await consumer.start();
  await world.settle();
  expect(consumer.snapshot()).toMatchObject({ retried: 1 });
  await world.put("late.txt", "one");
  await world.pass(20_000);
  expect(read).toContain("one");
  expect(await world.depth(world.deadLetters)).toBe(0);
});

test.each(["dead-letter", "drop"] as const)(
  "T28: with %s, an object that may not be read is dead-lettered with a hint, never dropped",
  async (how) => {
    const forbids = (): ObjectSource => ({
      open: async () => ({ kind: "forbidden", reason: "403 AccessDenied" }),
    });
    const { world } = await worldOf(how, forbids);
    await using _ = world;
    await world.put("secret.txt", "one");
    const consumer = world.consumer();
    await consumer.start();
    await world.pass(5_000);
    expect(consumer.snapshot()).toMatchObject({ deadLettered: 1, dropped: 0 });
    expect(await dossierOf(world)).toMatchObject({
      error_class: "permission",
      message: expect.stringContaining("s3:ListBucket"),
    });
  },
);
