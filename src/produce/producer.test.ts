import { describe, expect, test } from "vitest";
import {
  createProducerWorld,
  event,
  passTime,
  unavailable,
} from "../../test/support/producer-world.ts";
import type { SendOutcome } from "../ports/queue.ts";
import { fixedGroups, perEntity } from "./group-strategy.ts";
import { createProducer } from "./producer.ts";
import { createRelay } from "./relay.ts";

const groups = perEntity(({ source }) => source);
const later: SendOutcome = { kind: "refused", code: "InternalError", message: "", retry: "later" };
const never: SendOutcome = { kind: "refused", code: "Bad", message: "no", retry: "never" };

describe("a producer", () => {
  test("sends an event once and reports already-sent minutes and days later", async () => {
    await using world = await createProducerWorld();
    const producer = createProducer(world.ports, { groups });
    const first = await producer.send(event("a"));
    expect(first).toMatchObject({ kind: "sent", sequenceNumber: expect.any(String) });
    const messageId = first.messageId;
    expect(await producer.send(event("a"))).toMatchObject({ kind: "already-sent", messageId });
    await world.cloud.clock.advance(86_400_000);
    expect(await producer.send(event("a"))).toMatchObject({ kind: "already-sent", messageId });
    expect(await world.messages()).toHaveLength(1);
    expect(world.counts.get("sqs_fifo.dedupe_window_hits")).toBe(1);
  });

  test("the body is the contract's, and trace context stays out of it", async () => {
    await using world = await createProducerWorld();
    const producer = createProducer(world.ports, { groups });
    await producer.send(event("a"), { traceparent: "00-1-2-01", attributes: { tenant: "t" } });
    const [message] = world.calls[0] ?? [];
    expect(message?.attributes).toEqual({ traceparent: "00-1-2-01", tenant: "t" });
    expect(message?.dedupId).toMatch(/^[0-9a-f]{64}$/);
    expect(Object.keys(JSON.parse(message?.body ?? ""))).toEqual([
      ...["dedupe_key", "event_id", "event_source", "event_time", "payload", "schema_version"],
    ]);
  });

  test("the same dedupe_key with another payload is rejected and counted", async () => {
    await using world = await createProducerWorld();
    const producer = createProducer(world.ports, { groups });
    await producer.send(event("a"));
    const reused = producer.send(event("a", { payload: { scene: "another" } }));
    await expect(reused).rejects.toMatchObject({ code: "TG_DEDUPE_KEY_REUSED", retry: "never" });
    expect(world.counts.get("sqs_fifo.dedupe.collisions_detected")).toBe(1);
    expect(await world.messages()).toHaveLength(1);
  });

  test.each([
    ["no dedupe_key", { dedupeKey: undefined as unknown as string }, "/dedupe_key is missing"],
    ["an empty dedupe_key", { dedupeKey: " " }, "/dedupe_key is empty"],
    ["a long dedupe_key", { dedupeKey: "k".repeat(1_025) }, "longer than 1024 bytes"],
    ["a source of two parts", { source: "kfm.landsat" }, "/event_source is not"],
    ["a time without offset", { eventTime: "2026-11-15T08:00:00" }, "/event_time"],
    ["30 February", { eventTime: "2026-02-30T08:00:00Z" }, "/event_time"],
    ["a number JSON cannot carry", { payload: { n: Number.NaN } }, "/payload cannot be sent"],
    ["a reserved name", { payload: { tidegate_claim_check: {} } }, "/payload uses a reserved name"],
  ])("an event with %s is rejected before anything is written", async (_, wrong, reason) => {
    await using world = await createProducerWorld();
    const producer = createProducer(world.ports, { groups });
    const refused = producer.send(event("a", wrong));
    await expect(refused).rejects.toMatchObject({ code: "TG_VALUE_INVALID" });
    await expect(refused).rejects.toThrow(reason);
    expect(world.counts.get("sqs_fifo.producer.violations")).toBe(1);
    expect(await world.outbox.stats("orders.fifo")).toMatchObject({ pending: 0, sent: 0 });
    expect(world.calls).toEqual([]);
  });

  test("attributes that SQS would reject are rejected first", async () => {
    await using world = await createProducerWorld();
    const producer = createProducer(world.ports, { groups });
    const many = Object.fromEntries(Array.from({ length: 11 }, (_, n) => [`a${n}`, "x"]));
    for (const attributes of [{ "aws.x": "1" }, { ok: "" }, { ok: "\u0001" }, many]) {
      const refused = producer.send(event("a"), { attributes });
      await expect(refused).rejects.toMatchObject({ code: "TG_VALUE_INVALID" });
    }
  });

  test("a hundred events of a hundred groups are sent in ten requests of ten", async () => {
    await using world = await createProducerWorld();
    const producer = createProducer(world.ports, { groups: perEntity((e) => e.dedupeKey) });
    await Promise.all(Array.from({ length: 100 }, (_, n) => producer.send(event(`k${n}`))));
    expect(world.calls.map((call) => call.length)).toEqual(Array(10).fill(10));
    expect(await world.messages()).toHaveLength(100);
  });

  test("a request without a response is retried, and the queue has one message", async () => {
    await using world = await createProducerWorld();
    const producer = createProducer(world.ports, { groups });
    let cuts = 2;
    world.interfere = async (messages, send) => {
      const outcomes = await send(messages);
      cuts -= 1;
      return cuts >= 0 ? unavailable() : outcomes;
    };
    const result = await passTime(world, producer.send(event("a")));
    expect(result).toMatchObject({ kind: "sent" });
    expect(world.calls).toHaveLength(3);
    expect(await world.messages()).toHaveLength(1);
  });

  test("a permanently rejected message is not retried, and a fixed event may reuse its key", async () => {
    await using world = await createProducerWorld();
    const producer = createProducer(world.ports, { groups });
    world.interfere = async (messages) => messages.map(() => never);
    const refused = producer.send(event("a"));
    await expect(refused).rejects.toMatchObject({ code: "TG_MESSAGE_REFUSED" });
    expect(world.calls).toHaveLength(1);
    world.interfere = (messages, send) => send(messages);
    const mended = event("a", { payload: { scene: "mended" } });
    expect(await producer.send(mended)).toMatchObject({ kind: "sent" });
  });

  test("a missing queue fails the send immediately, and the event stays registered", async () => {
    await using world = await createProducerWorld();
    await world.cloud.broker.submit("deleteQueue", { queue: "orders.fifo" });
    const producer = createProducer(world.ports, { groups });
    await expect(producer.send(event("a"))).rejects.toMatchObject({ code: "TG_QUEUE_REFUSED" });
    await world.cloud.clock.advance(61_000);
    const queue = { name: "orders.fifo", attributes: { FifoQueue: "true" }, tags: {} };
    await world.cloud.broker.submit("createQueue", queue);
    await producer.send(event("b"));
    const keys = (await world.messages()).map(({ body }) => body.dedupe_key);
    expect(keys).toEqual(["a", "b"]);
  });

  test("an unsent event stays registered and is sent first when the queue is back", async () => {
    await using world = await createProducerWorld();
    const producer = createProducer(world.ports, { groups });
    world.interfere = unavailable;
    const lost = ["a", "b", "c"].map((key) => producer.send(event(key)));
    for (const each of lost) each.catch(() => {});
    const settled = await passTime(world, Promise.allSettled(lost));
    for (const each of settled) {
      expect(each).toMatchObject({ reason: { code: "TG_QUEUE_UNAVAILABLE", retry: "later" } });
    }
    expect(await world.outbox.stats("orders.fifo")).toMatchObject({ pending: 3 });
    world.interfere = (messages, send) => send(messages);
    await producer.send(event("d"));
    const keys = (await world.messages()).map(({ body }) => body.dedupe_key);
    expect(keys).toEqual(["a", "b", "c", "d"]);
    expect(await world.outbox.stats("orders.fifo")).toMatchObject({ pending: 0, sent: 4 });
  });

  test("transient failures of single entries are retried without reordering a group", async () => {
    await using world = await createProducerWorld();
    const producer = createProducer(world.ports, { groups: fixedGroups(3) });
    const tries = new Map<string, number>();
    world.interfere = async (messages, send) => {
      const fails = messages.map(({ dedupId }) => {
        const id = String(dedupId);
        tries.set(id, (tries.get(id) ?? 0) + 1);
        return (tries.get(id) ?? 0) <= Number.parseInt(id[0] ?? "0", 16) % 4; // Up to three times.
      });
      const passing = messages.filter((_, at) => !fails[at]);
      const passed = passing.length === 0 ? [] : [...(await send(passing))];
      return messages.map((_, at) => (fails[at] ? later : (passed.shift() ?? later)));
    };
    const keys = Array.from({ length: 60 }, (_, n) => `k${n}`);
    const strategy = fixedGroups(3);
    await passTime(world, Promise.all(keys.map((key) => producer.send(event(key)))));
    const messages = await world.messages();
    expect(messages).toHaveLength(60);
    for (const group of ["group-0", "group-1", "group-2"]) {
      const arrived = messages.filter(({ groupId }) => groupId === group);
      const wanted = keys.filter((key) => strategy(event(key)) === group);
      expect(arrived.map(({ body }) => body.dedupe_key)).toEqual(wanted);
    }
  });

  test("send waits while the in-flight limit is reached", async () => {
    await using world = await createProducerWorld();
    const options = { groups: perEntity((e) => e.dedupeKey), inFlightMax: 5 };
    const producer = createProducer(world.ports, options);
    const gate = Promise.withResolvers<void>();
    world.interfere = async (messages, send) => {
      await gate.promise;
      return send(messages);
    };
    const sends = Array.from({ length: 20 }, (_, n) => producer.send(event(`k${n}`)));
    for (let turns = 0; turns < 10; turns += 1) await world.cloud.clock.advance(0);
    expect(await world.outbox.stats("orders.fifo")).toMatchObject({ pending: 5 });
    gate.resolve();
    await Promise.all(sends);
    expect(await world.messages()).toHaveLength(20);
  });

  test("send waits for another process that is sending the same event", async () => {
    await using world = await createProducerWorld();
    const gate = Promise.withResolvers<void>();
    const one = createProducer(world.ports, { groups });
    const two = createProducer(world.ports, { groups });
    world.interfere = async (messages, send) => {
      await gate.promise;
      return send(messages);
    };
    const first = one.send(event("a"));
    for (let turns = 0; turns < 5; turns += 1) await world.cloud.clock.advance(0);
    const second = two.send(event("a"));
    for (let turns = 0; turns < 5; turns += 1) await world.cloud.clock.advance(0);
    gate.resolve();
    expect(await first).toMatchObject({ kind: "sent" });
    expect(await passTime(world, second)).toMatchObject({ kind: "already-sent" });
    expect(await world.messages()).toHaveLength(1);
  });

  test("a standard queue gets no deduplication id, and no group without a strategy", async () => {
    await using world = await createProducerWorld("orders");
    const producer = createProducer(world.ports);
    await producer.send(event("a"));
    expect(world.calls[0]).toMatchObject([{ dedupId: null, groupId: null }]);
  });

  test("impossible options are rejected at the start", async () => {
    await using world = await createProducerWorld();
    const wrong = [{}, { groups, claimCheck: { bucket: "b" } }, { groups, inFlightMax: 0 }];
    for (const options of wrong) {
      const wiring = () => createProducer(world.ports, options);
      expect(wiring).toThrow(expect.objectContaining({ code: "TG_CONFIG_INVALID" }));
    }
  });

  test("close waits for events in flight and rejects later sends", async () => {
    await using world = await createProducerWorld();
    const producer = createProducer(world.ports, { groups });
    const sending = producer.send(event("a"));
    await producer.close();
    expect(await sending).toMatchObject({ kind: "sent" });
    await expect(producer.send(event("b"))).rejects.toMatchObject({ code: "TG_CLOSED" });
  });
});

test("a relay sends the rows of a crashed producer once their lease has ended", async () => {
  await using world = await createProducerWorld();
  world.interfere = () => new Promise(() => {}); // The process dies here.
  void createProducer(world.ports, { groups }).send(event("a"));
  for (let turns = 0; turns < 5; turns += 1) await world.cloud.clock.advance(0);
  world.interfere = (messages, send) => send(messages);
  const relay = createRelay(world.ports);
  expect(await relay.drain()).toEqual({ sent: 0, refused: 0, failed: null });
  await world.cloud.clock.advance(120_000);
  expect(await relay.drain()).toEqual({ sent: 1, refused: 0, failed: null });
  expect(await relay.drain()).toEqual({ sent: 0, refused: 0, failed: null });
  expect(await world.messages()).toHaveLength(1);
});

test("a running relay continues until aborted, and survives a failing queue", async () => {
  await using world = await createProducerWorld();
  world.interfere = unavailable;
  const producer = createProducer(world.ports, { groups, owner: "p" });
  await expect(passTime(world, producer.send(event("a")))).rejects.toThrow();
  const stop = new AbortController();
  const reports: unknown[] = [];
  const running = createRelay(world.ports, { owner: "p" }).run(stop.signal, (report) => {
    reports.push(report);
    if (report.sent === 1) stop.abort();
    world.interfere = (messages, send) => send(messages);
  });
  await passTime(world, running);
  expect(reports).toMatchObject([{ failed: { code: "TG_QUEUE_UNAVAILABLE" } }, { sent: 1 }]);
});
