import { expect, test } from "vitest";
import { createProducerWorld, event } from "../../test/support/producer-world.ts";
import type { MessageEnvelope } from "../core/events/envelope.ts";
import { createMemoryObjects } from "../stores/memory/objects.ts";
import { withPayload } from "./claim-check.ts";
import { perEntity } from "./group-strategy.ts";
import { createProducer } from "./producer.ts";

const groups = perEntity(({ source }) => source);
const claimCheck = { bucket: "payloads", prefix: "scenes/" };
const big = event("big", { payload: { text: "ü".repeat(2_000), "a b": { c: [1, null] } } });

async function sendBig() {
  const world = await createProducerWorld("orders.fifo", { messageBytesMax: 1_024 });
  const objects = createMemoryObjects();
  const producer = createProducer({ ...world.ports, objects }, { groups, claimCheck });
  return { world, objects, producer };
}

test("a payload over the limit goes to a bucket and is read back unchanged", async () => {
  const { world, objects, producer } = await sendBig();
  await using _ = world;
  await producer.send(big);
  const [message] = await world.messages();
  const envelope = message?.body as unknown as MessageEnvelope;
  expect(envelope.payload).not.toHaveProperty("text");
  expect(JSON.stringify(envelope).length).toBeLessThan(1_024);
  expect((await withPayload(envelope, objects)).payload).toEqual(big.payload);
});

test("a repeated big event is recognised, and another payload under its key is rejected", async () => {
  const { world, producer } = await sendBig();
  await using _ = world;
  await producer.send(big);
  expect(await producer.send(big)).toMatchObject({ kind: "already-sent" });
  const other = producer.send({ ...big, payload: { text: "y".repeat(4_000) } });
  await expect(other).rejects.toMatchObject({ code: "TG_DEDUPE_KEY_REUSED" });
  const small = producer.send({ ...big, payload: { text: "y" } });
  await expect(small).rejects.toMatchObject({ code: "TG_DEDUPE_KEY_REUSED" });
});

test("a payload that fits stays in its message", async () => {
  const { world, objects, producer } = await sendBig();
  await using _ = world;
  await producer.send(event("small"));
  const [message] = await world.messages();
  expect(message?.body.payload).toEqual({ scene: "small" });
  const envelope = message?.body as unknown as MessageEnvelope;
  expect(await withPayload(envelope, objects)).toBe(envelope);
});

test("a payload object that is missing or changed fails the read", async () => {
  const { world, objects, producer } = await sendBig();
  await using _ = world;
  await producer.send(big);
  const [message] = await world.messages();
  const envelope = message?.body as unknown as MessageEnvelope;
  const gone = withPayload(envelope, createMemoryObjects());
  await expect(gone).rejects.toMatchObject({ code: "TG_OBJECTS_UNAVAILABLE" });
  const check = envelope.payload.tidegate_claim_check as { bucket: string; key: string };
  await objects.put(check.bucket, check.key, new TextEncoder().encode('{"text":"forged"}'));
  await expect(withPayload(envelope, objects)).rejects.toMatchObject({ code: "TG_VALUE_INVALID" });
});

test("a failing bucket fails only that event, and nothing is registered", async () => {
  const { world } = await sendBig();
  await using _ = world;
  const objects = {
    put: () => Promise.reject(new Error("no such bucket")),
    get: async () => undefined,
  };
  const producer = createProducer({ ...world.ports, objects }, { groups, claimCheck });
  const [failed, sent] = await Promise.allSettled([producer.send(big), producer.send(event("a"))]);
  expect(failed).toMatchObject({ reason: { code: "TG_OBJECTS_UNAVAILABLE" } });
  expect(sent).toMatchObject({ value: { kind: "sent" } });
  expect(await world.outbox.stats("orders.fifo")).toMatchObject({ pending: 0, sent: 1 });
});

test("without a bucket, an event over the limit is rejected", async () => {
  await using world = await createProducerWorld("orders.fifo", { messageBytesMax: 1_024 });
  const producer = createProducer(world.ports, { groups });
  const refused = producer.send(big);
  await expect(refused).rejects.toThrow("no bucket is configured for its payload");
  expect(world.counts.get("sqs_fifo.producer.violations")).toBe(1);
});
