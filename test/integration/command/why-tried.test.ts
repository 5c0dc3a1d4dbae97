// tidegate why by object, for events that are neither applied nor dead-lettered yet.

import { expect, test } from "vitest";
import { describeHistory } from "../../../src/operate/history/describe-history.ts";
import { openOperator } from "../../../src/operate/open-operator.ts";
import { createConsumerWorld } from "../../support/consumer-world.ts";

const BUCKET = "inbox";
const KEY = "2026/a b.csv";
const OBJECT = `s3://${BUCKET}/${KEY}`;
const PATH = "2026/a%20b.csv";
const retry = { attempts: 5, baseMs: 60_000, capMs: 60_000 };

type World = Awaited<ReturnType<typeof createConsumerWorld>>;

async function outcomes(world: World, what: string): Promise<(string | undefined)[]> {
  const lives = await openOperator({ ledger: world.ledger }).history.find(what);
  return lives.map((life) => describeHistory(life, what)[2]?.trim());
}

test("an event whose attempt failed is found by its object until it is applied, and after", async () => {
  const state = { broken: true };
  await using world = await createConsumerWorld({
    bucket: BUCKET,
    pipeline: { retry } as never,
    handler: () => {
      if (state.broken) throw new Error("not today");
    },
  });
  await world.put(PATH, "n\n1\n");
  await world.put("2026/other.csv", "n\n1\n");
  await world.consumer().start();
  await world.pass(1_000);
  const failed = ["outcome     failed, will be retried when the queue redelivers it"];
  expect(await outcomes(world, OBJECT)).toEqual(failed);
  expect(await outcomes(world, KEY)).toEqual(failed);
  expect(await outcomes(world, `s3://elsewhere/${KEY}`)).toEqual([]);
  const [life] = await openOperator({ ledger: world.ledger }).history.find(OBJECT);
  expect(life?.entries.at(-1)?.failure?.message).toContain("not today");
  state.broken = false;
  await world.pass(180_000);
  expect(await outcomes(world, OBJECT)).toEqual(["outcome     committed, in 0 ms"]);
});

test("all events of an object that are being retried are found, each with its own history", async () => {
  await using world = await createConsumerWorld({
    bucket: BUCKET,
    pipeline: { retry } as never,
    handler: () => {
      throw new Error("not today");
    },
  });
  await world.put(PATH, "n\n1\n");
  await world.put(PATH, "n\n2\n");
  await world.consumer().start();
  await world.pass(1_000);
  expect(await outcomes(world, OBJECT)).toHaveLength(2);
});

test("an event whose consumers crash is found by its object while it is in progress again", async () => {
  await using world = await createConsumerWorld({
    bucket: BUCKET,
    pipeline: { lease: "ledger", visibilityMs: 3_000, retry, timeoutMs: 600_000 } as never,
    handler: () => new Promise<void>(() => {}),
  });
  await world.put(PATH, "n\n1\n");
  // The first consumer receives it and crashes.
  const request = { max: 10, waitMs: 0 as never, visibilityMs: 3_000 as never };
  await world.queue.receive(request, new AbortController().signal);
  await world.pass(4_000);
  await world.consumer("second").start();
  await world.pass(1_000);
  expect(await outcomes(world, OBJECT)).toEqual([
    expect.stringContaining("outcome     in progress, claimed by second until "),
  ]);
});

test("an event that waits for an unavailable sink is found by its object", async () => {
  await using world = await createConsumerWorld({
    bucket: BUCKET,
    pipeline: { retry: { attempts: 5, baseMs: 1_000, capMs: 1_000 } } as never,
    handler: ((_event: unknown, { emit }: { emit(value: unknown): void }) => emit(1)) as never,
    sink: {
      mode: "idempotent",
      prepare: async () => {},
      close: async () => {},
      apply: async () => {
        throw Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED" });
      },
    },
  });
  await world.put(PATH, "n\n1\n");
  await world.consumer().start();
  await world.pass(30_000);
  const [outcome, ...others] = await outcomes(world, OBJECT);
  expect(others).toEqual([]);
  expect(outcome).toMatch(/^outcome {5}(returned to the queue|in progress)/);
});
