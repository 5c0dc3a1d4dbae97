// T2: a producer writes its row, crashes before it sends, and skips the send forever, because the
// row exists.

import { describe, expect, test } from "vitest";
import { perEntity } from "../../src/produce/group-strategy.ts";
import { createProducer } from "../../src/produce/producer.ts";
import { createRelay } from "../../src/produce/relay.ts";
import { createProducerWorld, event } from "../support/producer-world.ts";

const options = { owner: "p", groups: perEntity(({ source }) => source) };

/** A world in which a producer registered the event and crashed before sending it. */
async function createAftermath() {
  const world = await createProducerWorld();
  await new Promise<void>((sending) => {
    world.interfere = () => new Promise(() => sending());
    void createProducer(world.ports, options).send(event("a"));
  });
  expect(await world.outbox.stats("orders.fifo")).toMatchObject({ pending: 1 });
  expect(await world.messages()).toEqual([]);
  world.interfere = (messages, send) => send(messages);
  return world;
}

describe("T2: a row is not a message", () => {
  test("a replay finds the row and still sends it", async () => {
    await using world = await createAftermath();
    const result = await createProducer(world.ports, options).send(event("a"));
    expect(result.kind).toBe("sent");
    expect(await world.messages()).toHaveLength(1);
  });

  test("without a replay, a relay sends it", async () => {
    await using world = await createAftermath();
    await world.cloud.clock.advance(120_000);
    expect(await createRelay(world.ports).drain()).toMatchObject({ sent: 1 });
    expect(await world.messages()).toHaveLength(1);
  });

  test("any later event of the same producer sends it too, and it goes first", async () => {
    await using world = await createAftermath();
    await createProducer(world.ports, options).send(event("b"));
    const keys = (await world.messages()).map(({ body }) => body.dedupe_key);
    expect(keys).toEqual(["a", "b"]);
  });
});
