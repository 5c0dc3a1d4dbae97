// T12: batch helpers that send the first ten and drop the rest, ignore that a batch has one size
// limit for all its entries, retry what can never succeed, and send empty batches.

import { describe, expect, test } from "vitest";
import type { SendOutcome } from "../../src/ports/queue.ts";
import { perEntity } from "../../src/produce/group-strategy.ts";
import { createProducer } from "../../src/produce/producer.ts";
import { createRelay } from "../../src/produce/relay.ts";
import { createProducerWorld, event } from "../support/producer-world.ts";

const groups = perEntity(({ dedupeKey }) => dedupeKey);
const names = (count: number) => Array.from({ length: count }, (_, n) => `k${n}`);

describe("T12: nothing is dropped between a caller and a batch", () => {
  test("the eleventh event arrives, and so does the ninety-fifth", async () => {
    await using world = await createProducerWorld();
    const producer = createProducer(world.ports, { groups });
    await Promise.all(names(95).map((name) => producer.send(event(name))));
    const keys = (await world.messages()).map(({ body }) => body.dedupe_key);
    expect(new Set(keys)).toEqual(new Set(names(95)));
    expect(Math.max(...world.calls.map((call) => call.length))).toBe(10);
  });

  test("a batch stays below 1 MiB in total, even with few entries", async () => {
    await using world = await createProducerWorld();
    const producer = createProducer(world.ports, { groups });
    const payload = { text: "x".repeat(300_000) };
    await Promise.all(names(10).map((name) => producer.send(event(name, { payload }))));
    expect(world.calls.map((call) => call.length)).toEqual([3, 3, 3, 1]);
    expect(await world.messages()).toHaveLength(10);
  });

  test("an entry rejected as the sender's fault is not retried; the others arrive", async () => {
    await using world = await createProducerWorld();
    const producer = createProducer(world.ports, { groups });
    const never = { kind: "refused", code: "InvalidMessageContents", message: "" } as const;
    world.interfere = async (messages, send) => {
      const outcomes = [...(await send(messages.slice(1)))];
      return [{ ...never, retry: "never" } satisfies SendOutcome, ...outcomes];
    };
    const sends = await Promise.allSettled(names(10).map((name) => producer.send(event(name))));
    expect(sends.map(({ status }) => status)).toEqual(["rejected", ...Array(9).fill("fulfilled")]);
    expect(world.calls).toHaveLength(1);
    expect(await world.messages()).toHaveLength(9);
  });

  test("an empty outbox sends no empty batch", async () => {
    await using world = await createProducerWorld();
    expect(await createRelay(world.ports).drain()).toMatchObject({ sent: 0, failed: null });
    expect(world.calls).toEqual([]);
  });
});
