// T47 and T67: SQS does not report duplicates to a sender, so the counts come from the outbox; and
// attributes never decide whether a message is a duplicate.

import { describe, expect, test } from "vitest";
import { messageDedupId } from "../../src/core/events/envelope.ts";
import { perEntity } from "../../src/produce/group-strategy.ts";
import { METRICS } from "../../src/produce/metrics.ts";
import { createProducer } from "../../src/produce/producer.ts";
import { createProducerWorld, event } from "../support/producer-world.ts";

const groups = perEntity(({ source }) => source);

describe("T47: what a producer can know about duplicates", () => {
  test("the queue answers a duplicate like the original message", async () => {
    await using world = await createProducerWorld();
    const dedupId = messageDedupId("kfm.rs.landsat", "a");
    const message = { body: "{}", attributes: {}, groupId: "g", dedupId };
    const [first] = await world.ports.target.sendBatch([message]);
    const [again] = await world.ports.target.sendBatch([message]);
    expect(again).toEqual(first);
  });

  test("the producer counts hits within the window, collisions and body sizes", async () => {
    await using world = await createProducerWorld();
    const producer = createProducer(world.ports, { groups });
    await producer.send(event("a"));
    await producer.send(event("a"));
    await producer.send(event("a", { payload: {} })).catch(() => {});
    await world.cloud.clock.advance(300_000);
    await producer.send(event("a")); // Beyond the window: kept back, and no hit of it.
    expect(Object.fromEntries(world.counts)).toEqual({
      [METRICS.bodyBytes]: 1,
      [METRICS.windowHits]: 1,
      [METRICS.collisions]: 1,
      [METRICS.violations]: 1,
      [METRICS.sentMessages]: 1,
      [METRICS.operationDuration]: 1,
    });
  });

  test("T67: attributes alone never make a replay another message", async () => {
    await using world = await createProducerWorld();
    const producer = createProducer(world.ports, { groups });
    for (const traceparent of ["00-1-1-01", "00-2-2-01"]) {
      await producer.send(event("a"), { traceparent });
    }
    const [sent] = world.calls.flat();
    if (sent === undefined) throw new Error("nothing was sent");
    const attributes = { traceparent: "00-3-3-01", retry: "2" };
    await world.ports.target.sendBatch([{ ...sent, attributes }]);
    expect(await world.messages()).toHaveLength(1);
  });
});
