// Bad input has an outcome, and nothing is lost. Titles are rows of docs/reference/bad-input.md.

import { parquetWriteBuffer } from "hyparquet-writer";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { VirtualOpenCloud } from "../../../src/cloud/open-cloud.ts";
import { TidegateError } from "../../../src/core/errors.ts";
import type { HandlerContext, ObjectInput } from "../../../src/ingest/spec/pipeline-spec.ts";
import type { Ledger } from "../../../src/ports/ledger.ts";
import type { Queue } from "../../../src/ports/queue-receiver.ts";
import { createMemoryLedger } from "../../../src/stores/memory/ledger.ts";
import { depths, dossiers, run, sinkOf } from "../../support/consumer-looks.ts";
import {
  type ConsumerWorld,
  createConsumerWorld,
  type Handler,
} from "../../support/consumer-world.ts";

const unhandled: unknown[] = [];
const note = (reason: unknown) => void unhandled.push(reason);
beforeAll(() => void process.on("unhandledRejection", note));
afterAll(() => {
  process.off("unhandledRejection", note);
  expect(unhandled).toEqual([]);
});

const QUICK = { retry: { attempts: 2, baseMs: 10, capMs: 10 } };

test("a body that is not JSON: dead-lettered immediately as undecodable", async () => {
  await using world = await createConsumerWorld();
  for (const body of ["no json", "{", "\ufffd", "[".repeat(100_000)]) await world.sendBody(body);
  const consumer = await run(world);
  expect(consumer.snapshot()).toMatchObject({ deadLettered: 4, retried: 0, inFlight: 0 });
  expect(await depths(world)).toEqual([0, 4]);
  for (const it of await dossiers(world)) expect(it).toMatchObject({ error_class: "undecodable" });
});

test("a body of an unknown shape: dead-lettered immediately as undecodable", async () => {
  await using world = await createConsumerWorld();
  const deep = `${"[".repeat(50_000)}${"]".repeat(50_000)}`;
  const bodies = ["null", "7", "[]", '{"hello":"world"}', `{"Records":[${deep}]}`];
  for (const body of bodies) await world.sendBody(body);
  const consumer = await run(world);
  expect(await depths(world)).toEqual([0, bodies.length]);
  expect(consumer.snapshot()).toMatchObject({ deadLettered: bodies.length, inFlight: 0 });
});

test("a message without a dedupe key: dead-lettered immediately, under a unique key", async () => {
  await using world = await createConsumerWorld();
  const envelope = { event_source: "a.b.c", event_time: "2026-01-01T00:00:00Z", event_id: "x" };
  for (const n of [1, 2]) await world.sendBody(JSON.stringify({ ...envelope, payload: { n } }));
  await run(world);
  expect(await depths(world)).toEqual([0, 2]);
  const keys = (await dossiers(world)).map(({ record_key }) => record_key);
  expect(new Set(keys).size).toBe(2);
});

test("an object of another bucket or prefix: acknowledged without handling, counted and logged", async () => {
  const handled: string[] = [];
  await using world = await createConsumerWorld({
    bucket: "inbox",
    handler: ((event: { object: { key: string } }) => void handled.push(event.object.key)) as never,
    pipeline: { source: { bucket: "inbox", prefix: "a/", queue: "work" } } as never,
  });
  for (const key of ["a/1", "b/1", "b/2"]) await world.put(key, "x");
  const consumer = await run(world);
  expect(handled).toEqual(["a/1"]);
  expect(consumer.snapshot()).toMatchObject({ committed: 1, ignored: expect.any(Number) });
  expect(world.counts.get("tidegate_records_ignored_total")).toBe(consumer.snapshot().ignored);
  expect(world.logs.filter(({ message }) => /outside the pipeline/.test(message))).toHaveLength(1);
  expect(await depths(world)).toEqual([0, 0]);
});

test("an event time far in the future: handled; does not move the watermark, counted and logged", async () => {
  const handled: string[] = [];
  await using world = await createConsumerWorld({
    handler: ({ envelope }, { lane }) => void handled.push(`${envelope.dedupe_key} ${lane}`),
  });
  await world.send("now");
  const future = await futureOf(world);
  await world.sendBody(future);
  const consumer = await run(world);
  const { watermark, committed } = consumer.snapshot();
  expect(committed).toBe(2);
  expect(watermark).toBeLessThan(world.cloud.clock.now());
  expect(world.counts.get("tidegate_future_events_total")).toBe(1);
  expect(world.logs).toContainEqual(
    expect.objectContaining({ message: expect.stringContaining("ahead of our clock") }),
  );
  await world.send("after");
  await world.pass(1_000);
  expect(handled.toSorted()).toEqual(["after live", "future live", "now live"]);
});

async function futureOf(world: ConsumerWorld): Promise<string> {
  await world.send("future");
  const request = { max: 10, waitMs: 0 as never, visibilityMs: 0 as never };
  const deliveries = await world.queue.receive(request, new AbortController().signal);
  const it = deliveries.find(({ body }) => JSON.parse(body).dedupe_key === "future");
  if (it === undefined) throw new Error("it was not received");
  await world.queue.deleteBatch([it.receipt]);
  return JSON.stringify({ ...JSON.parse(it.body), event_time: "2099-01-01T00:00:00.000Z" });
}

type Rows = { rows(): AsyncIterable<unknown>; text(): Promise<string> };

function readingRows(read: unknown[]): Handler {
  return (async (event: Rows) => {
    for await (const row of event.rows()) read.push(row);
  }) as never;
}

test("an empty object of CSV, JSON Lines or JSON: committed without rows", async () => {
  const read: unknown[] = [];
  await using world = await createConsumerWorld({ bucket: "files", handler: readingRows(read) });
  for (const key of ["a.csv", "a.jsonl", "a.json", "a"]) await world.put(key, "");
  const consumer = await run(world);
  expect(consumer.snapshot()).toMatchObject({ committed: 4, deadLettered: 0 });
  expect(read).toEqual([]);
});

test("an empty object of Parquet: dead-lettered immediately as unreadable", async () => {
  await using world = await createConsumerWorld({ bucket: "files", handler: readingRows([]) });
  await world.put("a.parquet", "");
  const consumer = await run(world);
  expect(consumer.snapshot()).toMatchObject({ deadLettered: 1, retried: 0 });
  expect(await dossiers(world)).toMatchObject([{ error_class: "unreadable" }]);
});

test("an object with far more rows than bytes: dead-lettered immediately as unreadable, with the limit's name", async () => {
  await using world = await createConsumerWorld({ bucket: "files", handler: readingRows([]) });
  const data = new Int32Array(5_000_000).fill(7);
  const columnData = [{ name: "x", data, type: "INT32" as const }];
  const file = parquetWriteBuffer({ columnData, rowGroupSize: data.length });
  expect(file.byteLength).toBeLessThan(10_000);
  await world.put("a.parquet", new Uint8Array(file));
  const consumer = await run(world);
  expect(consumer.snapshot()).toMatchObject({ deadLettered: 1, retried: 0 });
  const [dossier] = await dossiers(world);
  expect(dossier).toMatchObject({ error_class: "unreadable" });
  expect(JSON.stringify(dossier)).toContain("over ROWS_PER_BYTE_MAX");
});

test("an object that is not UTF-8, read as text: dead-lettered immediately as unreadable", async () => {
  await using world = await createConsumerWorld({
    bucket: "files",
    handler: (async (event: Rows) => void (await event.text())) as never,
  });
  await world.put("a.txt", new Uint8Array([0xff, 0xfe, 0xfd]));
  const consumer = await run(world);
  expect(consumer.snapshot()).toMatchObject({ deadLettered: 1, retried: 0 });
  expect(await dossiers(world)).toMatchObject([{ error_class: "unreadable" }]);
});

test("an object that was replaced since its event: handled by `onMissing`; other bytes are never read", async () => {
  for (const [onMissing, expected] of [
    ["dead-letter", { deadLettered: 1, dropped: 0 }],
    ["drop", { deadLettered: 0, dropped: 1 }],
    ["retry", { deadLettered: 1, dropped: 0, retried: 1 }],
  ] as const) {
    const read: unknown[] = [];
    await using world = await createConsumerWorld({
      bucket: "files",
      pipeline: { ...QUICK, onMissing },
      handler: readingRows(read),
    });
    await world.put("a.jsonl", '{"n":1}');
    const stolen = await takeAll(world);
    await world.put("a.jsonl", '{"n":2}');
    await takeAll(world);
    await world.sendBody(stolen[0] ?? "");
    const consumer = await run(world);
    expect(consumer.snapshot(), onMissing).toMatchObject(expected);
    expect(read).toEqual([]);
  }
});

/** Takes all messages out of the queue; omits S3's test event. */
async function takeAll(world: ConsumerWorld): Promise<string[]> {
  const request = { max: 10, waitMs: 0 as never, visibilityMs: 1_000 as never };
  const deliveries = await world.queue.receive(request, new AbortController().signal);
  const receipts = deliveries.map(({ receipt }) => receipt);
  if (receipts.length > 0) await world.queue.deleteBatch(receipts);
  return deliveries.map(({ body }) => body).filter((body) => body.includes('"Records"'));
}

const refuse = () => {
  throw new Error("no");
};
const HOSTILE = new Proxy({}, { get: refuse, getPrototypeOf: refuse, has: refuse });

test("a handler that throws something that is not an error: retried, then dead-lettered", async () => {
  const thrown: readonly unknown[] = ["text", undefined, null, 7, HOSTILE, Symbol("x")];
  await using world = await createConsumerWorld({
    pipeline: QUICK,
    handler: ({ payload }) => {
      throw thrown[Number(payload.at)];
    },
  });
  for (const at of thrown.keys()) await world.send(`k${at}`, { at });
  const consumer = await run(world);
  const count = thrown.length;
  expect(consumer.snapshot()).toMatchObject({ retried: count, deadLettered: count, inFlight: 0 });
  expect(await depths(world)).toEqual([0, count]);
});

test("a handler that never returns: aborted at its deadline, retried, then dead-lettered", async () => {
  await using world = await createConsumerWorld({
    pipeline: { ...QUICK, timeoutMs: 5_000 },
    handler: () => new Promise<void>(() => undefined),
  });
  await world.send("k");
  const consumer = await run(world, 20_000);
  expect(consumer.snapshot()).toMatchObject({ retried: 1, deadLettered: 1, inFlight: 0 });
  expect(await dossiers(world)).toMatchObject([{ error_class: "timeout" }]);
});

test("a handler that emits after its deadline: rejected, and nothing is applied", async () => {
  const applied: unknown[] = [];
  const late: (() => void)[] = [];
  await using world = await createConsumerWorld({
    pipeline: { timeoutMs: 5_000, retry: { attempts: 1 } },
    sink: sinkOf(async (effects) => void applied.push(...effects)),
    handler: (_event, { emit, signal }) =>
      new Promise<void>((resolve) => {
        emit("before");
        signal.addEventListener("abort", () => {
          late.push(() => emit("after"));
          resolve();
        });
      }),
  });
  await world.send("k");
  const consumer = await run(world);
  expect(late).toHaveLength(1);
  for (const emit of late) expect(emit).toThrow("over");
  expect(applied).toEqual([]);
  expect(consumer.snapshot()).toMatchObject({ committed: 0, deadLettered: 1 });
});

test("a handler that returns while it is still reading: dead-lettered immediately as unawaited", async () => {
  const applied: unknown[] = [];
  const forgetful = (arrival: ObjectInput<unknown>, { emit }: HandlerContext) => {
    void (async () => {
      for await (const row of arrival.rows()) emit(row);
    })();
    void arrival.text().then(emit);
  };
  await using world = await createConsumerWorld({
    bucket: "files",
    sink: sinkOf(async (effects) => void applied.push(effects)),
    handler: forgetful as never,
  });
  await world.put("a.csv", "id\n1\n2\n");
  const consumer = await run(world);
  expect(applied).toEqual([]);
  expect(consumer.snapshot()).toMatchObject({ committed: 0, deadLettered: 1, retried: 0 });
  expect(await dossiers(world)).toMatchObject([{ error_class: "unawaited" }]);
});

test("a handler that fails while it is still reading: retried, and the process continues", async () => {
  const hasty = (arrival: ObjectInput<unknown>) => {
    void (async () => {
      for await (const _ of arrival.rows());
    })();
    void arrival.text().then(() => undefined);
    throw new Error("something else");
  };
  await using world = await createConsumerWorld({ bucket: "files", handler: hasty as never });
  await world.put("a.csv", "id\n1\n2\n");
  const consumer = await run(world);
  await new Promise(setImmediate);
  expect(unhandled).toEqual([]);
  expect(consumer.snapshot().committed).toBe(0);
  expect(consumer.snapshot().retried).toBeGreaterThan(1);
});

test("a handler that reuses one row object: each effect has the fields it had when it was requested", async () => {
  const applied: unknown[] = [];
  await using world = await createConsumerWorld({
    sink: sinkOf(async (effects) => void applied.push(...effects)),
    handler: (_event, { upsert, emit }) => {
      const row = { id: "" };
      for (const id of ["a", "b"]) upsert("t", Object.assign(row, { id }));
      for (const id of ["c", "d"]) emit(Object.assign(row, { id }));
    },
  });
  await world.send("k");
  await run(world);
  const rows = [{ row: { id: "a" } }, { row: { id: "b" } }];
  expect(applied).toMatchObject([...rows, { value: { id: "c" } }, { value: { id: "d" } }]);
});

test("effects on more tables than can be listed: committed, and counted by kind", async () => {
  const summaries: unknown[] = [];
  const ledger = ({ clock }: VirtualOpenCloud): Ledger => {
    const inner = createMemoryLedger({ clock });
    return {
      ...inner,
      commit(scope, commits) {
        for (const { effects = "" } of commits) summaries.push(JSON.parse(effects).effects);
        return inner.commit(scope, commits);
      },
    };
  };
  await using world = await createConsumerWorld({
    ledger,
    sink: sinkOf(async () => undefined),
    handler: (_event, { upsert }) => {
      for (let at = 0; at < 2_000; at += 1) upsert(`customer ${at}\ud800`, { id: at });
    },
  });
  await world.send("k");
  const consumer = await run(world);
  expect(consumer.snapshot()).toMatchObject({ committed: 1, deadLettered: 0 });
  expect(summaries).toEqual([{ upsert: 2_000 }]);
});

test("data that its schema rejects: dead-lettered immediately, without masked values", async () => {
  for (const later of [false, true]) {
    const validate = (value: unknown) => {
      const quoted = (value as { name: string }).name;
      const result = { issues: [{ message: `must not be ${quoted}`, path: ["name"] }] };
      return later ? Promise.resolve(result) : result;
    };
    await using world = await createConsumerWorld({
      pipeline: {
        schema: { "~standard": { version: 1, vendor: "test", validate } },
        mask: ["payload.name"],
      } as never,
    });
    await world.send("k", { name: "Ada Lovelace" });
    const consumer = await run(world);
    expect(consumer.snapshot()).toMatchObject({ deadLettered: 1, retried: 0 });
    const [dossier] = await dossiers(world);
    expect(dossier).toMatchObject({ error_class: "schema" });
    expect(JSON.stringify([dossier, world.logs])).not.toContain("Lovelace");
  }
});

test("a sink that is full: no attempt is counted, receiving stops, and all is processed later", async () => {
  let full = true;
  const attempts: number[] = [];
  await using world = await createConsumerWorld({
    pipeline: { retry: { attempts: 2, baseMs: 1_000, capMs: 5_000 } },
    sink: sinkOf(async () => {
      if (full) throw new TidegateError("TG_SINK_UNAVAILABLE", "no space left");
    }),
    handler: (_event, { attempt, emit }) => {
      attempts.push(attempt);
      emit(1);
    },
  });
  for (let at = 0; at < 8; at += 1) await world.send(`k${at}`);
  const consumer = await run(world, 60_000);
  expect(consumer.snapshot()).toMatchObject({ committed: 0, retried: 0, deadLettered: 0 });
  expect(consumer.snapshot().breaker).not.toBe("closed");
  full = false;
  await world.pass(180_000);
  expect(consumer.snapshot()).toMatchObject({ committed: 8, breaker: "closed" });
  expect(new Set(attempts)).toEqual(new Set([1]));
  expect(await depths(world)).toEqual([0, 0]);
});

test("a sink that never returns: aborted at its deadline, uncounted, and retried", async () => {
  let hangs = true;
  const signals: AbortSignal[] = [];
  await using world = await createConsumerWorld({
    sink: sinkOf((_effects, signal) => {
      signals.push(signal);
      return hangs ? new Promise<void>(() => undefined) : Promise.resolve();
    }),
    handler: (_event, { emit }) => emit(1),
    pipeline: { timeoutMs: 5_000 } as never,
  });
  await world.send("k");
  const consumer = await run(world, 8_000);
  expect(signals[0]?.aborted).toBe(true);
  expect(consumer.snapshot()).toMatchObject({ retried: 0, committed: 0, received: 2 });
  hangs = false;
  await world.pass(60_000);
  expect(consumer.snapshot()).toMatchObject({ retried: 0, committed: 1 });
  expect(await depths(world)).toEqual([0, 0]);
});

test("a sink that ignores its deadline: abandoned when the process stops, uncounted", async () => {
  await using world = await createConsumerWorld({
    drainMs: 1_000,
    sink: sinkOf(() => new Promise<void>(() => undefined)),
    handler: (_event, { emit }) => emit(1),
  });
  await world.send("k");
  const consumer = await run(world, 1_000);
  const drained = consumer.drain();
  await world.pass(10_000);
  await drained;
  expect(consumer.snapshot()).toMatchObject({ inFlight: 0, retried: 0 });
  expect(await world.ledger.stats()).toMatchObject([{ released: 1 }]);
});

function failing(ledger: Ledger, down: () => boolean): Ledger {
  const broken = (name: string) => async () => {
    throw new TidegateError("TG_LEDGER_UNAVAILABLE", `${name}: down`);
  };
  return new Proxy(ledger, {
    get(target, name: keyof Ledger & string) {
      const asked = typeof target[name] === "function" && name !== "close";
      return asked && down() ? broken(name) : target[name];
    },
  });
}

test("a ledger that is down for a while: nothing is acknowledged, and all is processed when it is back", async () => {
  let down = false;
  const handled: string[] = [];
  await using world = await createConsumerWorld({
    ledger: ({ clock }) => failing(createMemoryLedger({ clock }), () => down),
    handler: ({ envelope }) => void handled.push(envelope.dedupe_key),
  });
  const consumer = await run(world, 1_000);
  down = true;
  for (let at = 0; at < 8; at += 1) await world.send(`k${at}`);
  await world.pass(60_000);
  expect(await depths(world)).toEqual([8, 0]);
  expect(handled).toEqual([]);
  down = false;
  await world.pass(240_000);
  expect(handled).toHaveLength(8);
  expect(consumer.snapshot()).toMatchObject({ committed: 8, deadLettered: 0 });
});

test("a dead-letter queue that is down: the record stays in its queue until the dead letter is sent", async () => {
  let down = true;
  const wrapDeadLetters = (queue: Queue): Queue => ({
    ...queue,
    async sendBatch(messages) {
      if (down) throw new TidegateError("TG_QUEUE_UNAVAILABLE", "down");
      return queue.sendBatch(messages);
    },
  });
  await using world = await createConsumerWorld({ wrapDeadLetters, pipeline: QUICK });
  await world.sendBody("no json");
  await run(world, 5_000);
  expect(await depths(world)).toEqual([1, 0]);
  down = false;
  await world.pass(60_000);
  expect(await depths(world)).toEqual([0, 1]);
  expect(await dossiers(world)).toHaveLength(1);
});

test("a dead-letter queue that does not exist: the record stays in its queue", async () => {
  await using world = await createConsumerWorld({ pipeline: QUICK });
  await world.cloud.broker.submit("deleteQueue", { queue: "work-dead" });
  await world.sendBody("no json");
  const consumer = await run(world, 20_000);
  expect(await world.depth()).toBe(1);
  expect(consumer.snapshot()).toMatchObject({ deadLettered: 0 });
});

test("a queue that is purged while it is read: records in progress are committed, and receiving continues", async () => {
  const finish: (() => void)[] = [];
  await using world = await createConsumerWorld({
    handler: () => new Promise<void>((resolve) => void finish.push(resolve)),
  });
  await world.send("k");
  const consumer = await run(world, 1_000);
  await world.cloud.broker.submit("purgeQueue", { queue: "work" });
  for (const each of finish.splice(0)) each();
  await world.pass(2_000);
  await world.send("next");
  await world.pass(2_000);
  for (const each of finish.splice(0)) each();
  await world.pass(2_000);
  expect(consumer.snapshot()).toMatchObject({ committed: 2, inFlight: 0 });
});

test("a queue that is deleted while it is read: polled again with backoff, never in a hot loop", async () => {
  let asked = 0;
  await using world = await createConsumerWorld({
    wrapQueue: (queue) => ({
      ...queue,
      receive(request, signal) {
        asked += 1;
        return queue.receive(request, signal);
      },
    }),
  });
  await run(world, 1_000);
  await world.cloud.broker.submit("deleteQueue", { queue: "work" });
  asked = 0;
  await world.pass(120_000);
  expect(asked).toBeGreaterThan(2);
  expect(asked).toBeLessThan(40);
  expect(world.logs.filter(({ message }) => /receive failed/.test(message))).not.toEqual([]);
});

test("a message with many records, one of which fails: the others are not run again", async () => {
  const attempts: string[] = [];
  await using world = await createConsumerWorld({
    bucket: "files",
    pipeline: QUICK,
    handler: ((event: { object: { key: string } }, { attempt }: { attempt: number }) => {
      attempts.push(`${event.object.key} ${attempt}`);
      if (event.object.key === "b" && attempt === 1) throw new Error("not yet");
    }) as never,
  });
  for (const key of ["a", "b", "c"]) await world.put(key, key);
  const bodies = await takeAll(world);
  const Records = bodies.flatMap((body) => JSON.parse(body).Records);
  await world.sendBody(JSON.stringify({ Records }));
  const consumer = await run(world);
  expect(attempts.toSorted()).toEqual(["a 1", "b 1", "b 2", "c 1"]);
  expect(consumer.snapshot()).toMatchObject({ committed: 3, retried: 1 });
  expect(await depths(world)).toEqual([0, 0]);
});

test("deliveries that wait for their turn: kept hidden by heartbeats", async () => {
  const handled: string[] = [];
  const finish: (() => void)[] = [];
  await using world = await createConsumerWorld({
    pipeline: { concurrency: 1, visibilityMs: 6_000 },
    handler: ({ envelope }) => {
      handled.push(envelope.dedupe_key);
      return new Promise<void>((resolve) => void finish.push(resolve));
    },
  });
  for (let at = 0; at < 3; at += 1) await world.send(`k${at}`);
  const consumer = await run(world, 60_000);
  expect((await world.queue.facts()).hidden).toBe(3);
  for (let at = 0; at < 3; at += 1) {
    for (const each of finish.splice(0)) each();
    await world.pass(1_000);
  }
  expect(handled.toSorted()).toEqual(["k0", "k1", "k2"]);
  expect(consumer.snapshot()).toMatchObject({ received: 3, committed: 3, lost: 0 });
});

test("a concurrency key that throws, or is not text: the record runs without a key, and is logged", async () => {
  const keys = [refuse, () => Promise.reject(new Error("no")), () => ({})];
  for (const key of keys) {
    await using world = await createConsumerWorld({ pipeline: { concurrency: { key } } as never });
    for (let at = 0; at < 3; at += 1) await world.send(`k${at}`);
    const consumer = await run(world, 2_000);
    expect(consumer.snapshot()).toMatchObject({ committed: 3 });
    expect(world.logs.filter(({ message }) => /concurrency.key/.test(message))).toHaveLength(3);
  }
});

test("a key with far more records than others: limited, while other keys continue", async () => {
  const finish: (() => void)[] = [];
  const handled: string[] = [];
  await using world = await createConsumerWorld({
    pipeline: {
      concurrency: { total: 4, perKey: 1, key: (event: never) => (event as Keyed).payload.key },
    } as never,
    handler: ({ payload }) => {
      handled.push(String(payload.key));
      if (payload.key !== "hot") return;
      return new Promise<void>((resolve) => void finish.push(resolve));
    },
  });
  for (let at = 0; at < 8; at += 1) await world.send(`hot${at}`, { key: "hot" });
  for (let at = 0; at < 2; at += 1) await world.send(`cold${at}`, { key: `cold${at}` });
  const consumer = await run(world, 2_000);
  expect(handled.toSorted()).toEqual(["cold0", "cold1", "hot"]);
  for (let at = 0; at < 8; at += 1) {
    expect(finish).toHaveLength(1);
    finish.pop()?.();
    await world.pass(1_000);
  }
  expect(consumer.snapshot()).toMatchObject({ committed: 10 });
});

interface Keyed {
  readonly payload: { readonly key: string };
}

test("telemetry that throws: processing is not affected", async () => {
  await using world = await createConsumerWorld({
    telemetry: () => ({ count: refuse, record: refuse, gauge: refuse, log: refuse, span: refuse }),
    pipeline: QUICK,
    handler: ({ envelope }) => {
      if (envelope.dedupe_key === "bad") throw new Error("no");
    },
  });
  await world.send("good");
  await world.send("bad");
  const consumer = await run(world);
  expect(consumer.snapshot()).toMatchObject({ committed: 1, deadLettered: 1, inFlight: 0 });
  expect(await depths(world)).toEqual([0, 1]);
});

test("a second signal while draining: stops immediately, and both calls finish", async () => {
  await using world = await createConsumerWorld({ handler: () => new Promise<void>(() => {}) });
  await world.send("k");
  const consumer = await run(world, 1_000);
  const both = Promise.all([consumer.drain(), consumer.stop()]);
  await world.pass(5_000);
  await both;
  expect(await depths(world)).toEqual([1, 0]);
});
