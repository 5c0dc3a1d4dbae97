import { describe, expect, test } from "vitest";
import { createProducerWorld, event } from "../../test/support/producer-world.ts";
import type { SpanOptions, Telemetry } from "../ports/telemetry.ts";
import { perEntity } from "./group-strategy.ts";
import { createProducer, type ProducerPorts } from "./producer.ts";
import { createRelay } from "./relay.ts";
import { sendAll } from "./send-all.ts";

const groups = perEntity(({ source }) => source);
const trace = { traceparent: `00-${"a".repeat(32)}-${"b".repeat(16)}-01`, tracestate: "v=1" };
const inner = { traceparent: `00-${"a".repeat(32)}-${"c".repeat(16)}-01`, tracestate: null };

/** Ports whose spans have their own context, and a record of every span. */
function traced(ports: ProducerPorts & { readonly telemetry: Telemetry }) {
  const spans: { name: string; options: SpanOptions; ended: unknown }[] = [];
  const span: Telemetry["span"] = (name, options) => {
    const recorded = { name, options, ended: "not yet" as unknown };
    spans.push(recorded);
    return {
      context: inner,
      link() {},
      end: (how) => {
        recorded.ended = how ?? "well";
      },
    };
  };
  return { spans, ports: { ...ports, telemetry: { ...ports.telemetry, span } } };
}

describe("the trace of an event", () => {
  test("is sent in two attributes, and changes neither body nor deduplication id", async () => {
    await using world = await createProducerWorld();
    await using plain = await createProducerWorld();
    await createProducer(world.ports, { groups }).send({ ...event("a"), trace });
    await createProducer(plain.ports, { groups }).send(event("a"));
    const [sent] = world.calls[0] ?? [];
    expect(sent?.attributes).toEqual(trace);
    expect({ ...sent, attributes: {} }).toEqual(plain.calls[0]?.[0]);
  });

  test("is also sent by sendAll, and by a relay that sends pending rows", async () => {
    await using world = await createProducerWorld();
    const producer = createProducer(world.ports, { groups, attemptsMax: 1 });
    world.interfere = () => Promise.reject(new Error("cut"));
    for await (const result of sendAll(producer, [{ ...event("a"), trace }])) {
      expect(result.kind).toBe("failed");
    }
    world.interfere = (messages, send) => send(messages);
    await world.cloud.clock.advance(180_000);
    await createRelay(world.ports).drain();
    expect(world.calls.at(-1)?.[0]?.attributes).toEqual(trace);
  });

  test("is omitted if it is malformed, and the event is sent", async () => {
    await using world = await createProducerWorld();
    const producer = createProducer(world.ports, { groups });
    const bad = { traceparent: "nonsense\u0000", tracestate: "" };
    expect(await producer.send({ ...event("a"), trace: bad })).toMatchObject({ kind: "sent" });
    expect(world.calls[0]?.[0]?.attributes).toEqual({});
  });

  test("is omitted if the event already has the ten attributes that SQS allows", async () => {
    await using world = await createProducerWorld();
    const producer = createProducer(world.ports, { groups });
    const many = (count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, n) => [`a${n}`, "x"]));
    await producer.send({ ...event("a"), trace }, { attributes: many(9) });
    await producer.send({ ...event("b"), trace }, { attributes: many(10) });
    const { traceparent } = trace;
    expect(world.calls.flat().map(({ attributes }) => attributes)).toEqual([
      { ...many(9), traceparent },
      many(10),
    ]);
  });

  test("is omitted if the body leaves no space, and the body is sent unchanged", async () => {
    await using plain = await createProducerWorld();
    await createProducer(plain.ports, { groups }).send(event("a"));
    const body = plain.calls[0]?.[0]?.body ?? "";
    await using full = await createProducerWorld("orders.fifo", { messageBytesMax: body.length });
    await createProducer(full.ports, { groups }).send({ ...event("a"), trace });
    expect(full.calls[0]?.[0]).toMatchObject({ body, attributes: {} });
  });
});

describe("with a tracer", () => {
  test("a message has the context of the span in which it was sent", async () => {
    await using world = await createProducerWorld();
    const { spans, ports } = traced(world.ports);
    const producer = createProducer(ports, { groups });
    await producer.send({ ...event("a"), trace });
    const { traceparent, tracestate } = trace;
    await producer.send(event("b"), { traceparent, tracestate, attributes: { tenant: "t" } });
    expect(world.calls.flat().map(({ attributes }) => attributes)).toEqual([
      { traceparent: inner.traceparent },
      { traceparent: inner.traceparent, tenant: "t" },
    ]);
    const options: SpanOptions = {
      kind: "producer",
      parent: trace,
      attributes: {
        "messaging.system": "aws_sqs",
        "messaging.operation.name": "create",
        "messaging.operation.type": "create",
        "messaging.destination.name": "orders.fifo",
      },
    };
    const created = { name: "create orders.fifo", options, ended: "well" };
    const sent = {
      name: "send orders.fifo",
      options: {
        kind: "client",
        links: [{ context: inner }],
        attributes: {
          "messaging.system": "aws_sqs",
          "messaging.operation.name": "send",
          "messaging.operation.type": "send",
          "messaging.destination.name": "orders.fifo",
          "messaging.batch.message_count": 1,
        },
      },
      ended: {},
    };
    expect(spans).toEqual([created, sent, created, sent]);
  });

  test("events that are sent together share one request, whose span links all of them", async () => {
    await using world = await createProducerWorld("orders");
    const { spans, ports } = traced(world.ports);
    const producer = createProducer(ports);
    await Promise.all(["a", "b", "c"].map((key) => producer.send(event(key))));
    const requests = spans.filter(({ name }) => name === "send orders");
    expect(requests).toHaveLength(1);
    expect(requests[0]?.options.links).toHaveLength(3);
    expect(spans.filter(({ name }) => name === "create orders")).toHaveLength(3);
  });

  test("without createSpans, a message has the context of its event", async () => {
    await using world = await createProducerWorld();
    const { spans, ports } = traced(world.ports);
    await createProducer(ports, { groups, createSpans: false }).send({ ...event("a"), trace });
    expect(world.calls[0]?.[0]?.attributes).toEqual(trace);
    expect(spans.map(({ name }) => name)).toEqual(["send orders.fifo"]);
  });

  test("a request that fails ends its span with the code", async () => {
    await using world = await createProducerWorld();
    const { spans, ports } = traced(world.ports);
    const failing = createProducer(ports, { groups, attemptsMax: 1 });
    world.interfere = () => Promise.reject(new Error("cut"));
    await expect(failing.send(event("a"))).rejects.toThrow();
    expect(spans.at(-1)).toMatchObject({ ended: { errorType: "TG_QUEUE_UNAVAILABLE" } });
  });

  test("telemetry that throws changes nothing", async () => {
    await using world = await createProducerWorld();
    const fail = () => {
      throw new Error("no telemetry");
    };
    const telemetry = { count: fail, record: fail, gauge: fail, log: fail, span: fail };
    const producer = createProducer({ ...world.ports, telemetry }, { groups });
    expect(await producer.send(event("b"))).toMatchObject({ kind: "sent" });
  });

  test("the span of a rejected event ends with its error code", async () => {
    await using world = await createProducerWorld();
    const { spans, ports } = traced(world.ports);
    const refused = createProducer(ports, { groups }).send(event("a", { dedupeKey: "" }));
    await expect(refused).rejects.toThrow();
    expect(spans).toMatchObject([{ ended: { errorType: "TG_VALUE_INVALID" } }]);
  });
});
