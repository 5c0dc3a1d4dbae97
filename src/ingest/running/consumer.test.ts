import { expect, test } from "vitest";
import { createConsumerWorld } from "../../../test/support/consumer-world.ts";
import { recordKey } from "../../ledger/record-key.ts";
import type { Queue } from "../../ports/queue-receiver.ts";
import { PermanentError, RetryLater } from "../spec/handler-errors.ts";

test("every message is handled once and acknowledged after its commit", async () => {
  const handled: string[] = [];
  await using world = await createConsumerWorld({
    handler: ({ envelope }) => void handled.push(envelope.dedupe_key),
  });
  for (let at = 0; at < 25; at += 1) await world.send(`k${at}`);
  const consumer = world.consumer();
  await consumer.start();
  await world.pass(2_000);
  expect(handled.toSorted()).toEqual(Array.from({ length: 25 }, (_, at) => `k${at}`).toSorted());
  expect(await world.depth()).toBe(0);
  expect(consumer.snapshot()).toMatchObject({ received: 25, committed: 25, inFlight: 0 });
});

test("receivedAt is when the message arrived, not when the receive call started", async () => {
  let key = "";
  await using world = await createConsumerWorld({
    handler: (_event, context) => {
      key = context.key;
    },
  });
  await world.consumer().start();
  await world.pass(10_000);
  const sentAt = world.cloud.clock.now();
  await world.send("k");
  await world.pass(1_000);
  const { name, generation } = world.pipeline;
  const scope = { pipeline: name, generation };
  const view = await world.ledger.show(scope, recordKey(scope, key));
  const received = view?.entries.find(({ status }) => status === "received");
  expect(received?.at).toBeGreaterThanOrEqual(sentAt);
});

test("a duplicate of a committed record is acknowledged without running the handler", async () => {
  const handled: string[] = [];
  await using world = await createConsumerWorld({
    handler: ({ envelope }) => void handled.push(envelope.dedupe_key),
  });
  await world.send("same");
  const consumer = world.consumer();
  await consumer.start();
  await world.pass(1_000);
  await world.send("same");
  await world.pass(2_000);
  expect(handled).toEqual(["same"]);
  expect(await world.depth()).toBe(0);
  expect(consumer.snapshot()).toMatchObject({ committed: 1, duplicates: 1 });
});

test("a duplicate of a record in progress is returned until the lease is over, uncounted", async () => {
  let release = () => {};
  let handled = 0;
  await using world = await createConsumerWorld({
    handler: () => {
      handled += 1;
      return new Promise<void>((resolve) => {
        release = resolve;
      });
    },
  });
  await world.send("same");
  await world.send("same");
  const consumer = world.consumer();
  await consumer.start();
  await world.pass(5_000);
  expect(handled).toBe(1);
  expect(consumer.snapshot()).toMatchObject({ returned: 1, retried: 0 });
  release();
  await world.pass(70_000);
  expect(handled).toBe(1);
  expect(await world.depth()).toBe(0);
  expect(consumer.snapshot()).toMatchObject({ committed: 1, duplicates: 1 });
});

test("a failed record is retried after a backoff, and the ledger counts the attempt", async () => {
  const attempts: number[] = [];
  await using world = await createConsumerWorld({
    handler: (_event, { attempt }) => {
      attempts.push(attempt);
      if (attempt < 3) throw new Error("not yet");
    },
  });
  await world.send("k");
  const consumer = world.consumer();
  await consumer.start();
  await world.pass(30_000);
  expect(attempts).toEqual([1, 2, 3]);
  expect(await world.depth()).toBe(0);
  expect(consumer.snapshot()).toMatchObject({ committed: 1, retried: 2 });
});

test("a record that always fails is dead-lettered after the last attempt, body unchanged", async () => {
  let handled = 0;
  await using world = await createConsumerWorld({
    pipeline: { retry: { attempts: 3, baseMs: 10, capMs: 10 } },
    handler: () => {
      handled += 1;
      throw new Error("boom 42");
    },
  });
  await world.send("k", { n: 1 });
  const consumer = world.consumer();
  await consumer.start();
  await world.pass(10_000);
  expect(handled).toBe(3);
  expect(await world.depth()).toBe(0);
  expect(await world.depth(world.deadLetters)).toBe(1);
  const signal = new AbortController().signal;
  const request = { max: 10, waitMs: 0 as never, visibilityMs: 1_000 as never };
  const [deadLetter] = await world.deadLetters.receive(request, signal);
  expect(JSON.parse(deadLetter?.body ?? "{}").payload).toEqual({ n: 1 });
  expect(deadLetter?.attributes["tidegate.class"]).toBe("unknown");
  const notes = await world.ledger.listNotes({ pipeline: "test", generation: 0 }, "dossier", {
    after: null,
    limit: 10,
  });
  expect(notes).toHaveLength(1);
  expect(JSON.parse(notes[0]?.body ?? "{}")).toMatchObject({ attempts: 3, error_class: "unknown" });
});

test("a permanent error is dead-lettered immediately, and RetryLater delays by its own time", async () => {
  const attempts: string[] = [];
  await using world = await createConsumerWorld({
    handler: ({ envelope }, { attempt }) => {
      attempts.push(`${envelope.dedupe_key} ${attempt}`);
      if (envelope.dedupe_key === "bad") throw new PermanentError("never", { class: "schema" });
      if (attempt === 1) throw new RetryLater(20_000);
    },
  });
  await world.send("bad");
  await world.send("slow");
  const consumer = world.consumer();
  await consumer.start();
  await world.pass(15_000);
  expect(attempts.toSorted()).toEqual(["bad 1", "slow 1"]);
  await world.pass(10_000);
  expect(attempts).toContain("slow 2");
  expect(await world.depth(world.deadLetters)).toBe(1);
});

test("an unreadable body is dead-lettered, not lost", async () => {
  await using world = await createConsumerWorld();
  await world.sendBody("no json");
  await world.sendBody('{"event_source":"a.b.c"}');
  const consumer = world.consumer();
  await consumer.start();
  await world.pass(2_000);
  expect(await world.depth()).toBe(0);
  expect(await world.depth(world.deadLetters)).toBe(2);
});

test("a handler that never returns is aborted at its deadline and cannot commit later", async () => {
  let late: (() => void) | null = null;
  await using world = await createConsumerWorld({
    pipeline: { timeoutMs: 5_000, retry: { attempts: 1 } },
    handler: (_event, { signal, emit }) =>
      new Promise<void>((resolve) => {
        signal.addEventListener("abort", () => {
          late = () => {
            emit("too late");
            resolve();
          };
        });
      }),
  });
  await world.send("k");
  const consumer = world.consumer();
  await consumer.start();
  await world.pass(10_000);
  expect(late).not.toBeNull();
  expect(late).toThrow();
  expect(consumer.snapshot()).toMatchObject({ committed: 0, deadLettered: 1 });
});

test("a FIFO group halts at its first failure and is returned in order", async () => {
  const handled: string[] = [];
  let broken = true;
  await using world = await createConsumerWorld({
    queue: "orders.fifo",
    handler: ({ envelope }) => {
      if (envelope.dedupe_key === "a2" && broken) throw new Error("not now");
      handled.push(envelope.dedupe_key);
    },
  });
  for (const key of ["a1", "a2", "a3", "a4"]) await world.send(key, {}, "a");
  for (const key of ["b1", "b2"]) await world.send(key, {}, "b");
  const consumer = world.consumer();
  await consumer.start();
  await world.pass(200);
  expect(handled.filter((key) => key.startsWith("a"))).toEqual(["a1"]);
  expect(handled.filter((key) => key.startsWith("b"))).toEqual(["b1", "b2"]);
  broken = false;
  await world.pass(30_000);
  expect(handled.filter((key) => key.startsWith("a"))).toEqual(["a1", "a2", "a3", "a4"]);
});

test("draining returns deliveries that have not begun and waits for the others", async () => {
  const finish: (() => void)[] = [];
  await using world = await createConsumerWorld({
    pipeline: { concurrency: 2 },
    handler: () => new Promise<void>((resolve) => void finish.push(resolve)),
  });
  for (let at = 0; at < 8; at += 1) await world.send(`k${at}`);
  const consumer = world.consumer();
  await consumer.start();
  await world.pass(1_000);
  expect(finish).toHaveLength(2);
  const drained = consumer.drain();
  await world.settle();
  for (const each of finish) each();
  await world.pass(2_000);
  await drained;
  expect(consumer.snapshot()).toMatchObject({ committed: 2, inFlight: 0 });
  expect((await world.queue.facts()).visible).toBe(6);
});

test("a delivery that does not end within the drain is returned, uncounted", async () => {
  await using world = await createConsumerWorld({
    drainMs: 5_000,
    handler: (_event, { attempt }) =>
      attempt === 1 ? new Promise<void>(() => undefined) : undefined,
  });
  await world.send("k");
  const first = world.consumer();
  await first.start();
  await world.pass(1_000);
  const drained = first.drain();
  await world.pass(10_000);
  await drained;
  expect((await world.queue.facts()).visible).toBe(1);
  const stats = await world.ledger.stats();
  expect(stats).toMatchObject([{ released: 1 }]);
});

test.each(["drain", "stop"] as const)(
  "%s resolves with a handler that ignores its signal, whose later effects are refused",
  async (end) => {
    const released = Promise.withResolvers<void>();
    const refused: unknown[] = [];
    const late = Promise.withResolvers<void>();
    await using world = await createConsumerWorld({
      drainMs: 5_000,
      async handler(_event, { upsert }) {
        await released.promise;
        try {
          upsert("t", { id: "late" });
        } catch (error) {
          refused.push((error as Error).message);
        }
        late.resolve();
      },
    });
    await world.send("k");
    const first = world.consumer();
    await first.start();
    await world.pass(1_000);
    const ended = first[end]();
    await world.pass(10_000);
    const [abandoned, ...others] = await ended;
    expect(abandoned).toMatchObject({ messageId: expect.any(String), record: "k" });
    expect(abandoned?.runningMs).toBeGreaterThanOrEqual(end === "drain" ? 6_000 : 1_000);
    expect(others).toEqual([]);
    expect((await world.queue.facts()).visible).toBe(1);
    released.resolve();
    await late.promise;
    expect(refused).toEqual(["the attempt is over; later effects are rejected"]);
    await world.pass(1_000);
    expect(await world.ledger.stats()).toMatchObject([{ released: 1 }]);
    expect(first.snapshot().committed).toBe(0);
  },
);

test("the successor of an abandoned handler commits once, though that handler ends meanwhile", async () => {
  const gates = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const ends: string[] = [];
  const fences: number[] = [];
  const applied: unknown[] = [];
  await using world = await createConsumerWorld({
    drainMs: 0,
    sink: {
      mode: "idempotent",
      prepare: async () => {},
      apply: async (effects, { fence }) => void applied.push({ effects, fence }),
      close: async () => {},
    },
    async handler(_event, { emit, fence }) {
      const run = ends.push("runs") - 1;
      fences.push(fence ?? 0);
      await gates[run]?.promise;
      try {
        emit(run);
        ends[run] = "emitted";
      } catch {
        ends[run] = "refused";
      }
    },
  });
  await world.send("k");
  const [first, second] = [world.consumer(), world.consumer()];
  await first.start();
  await world.pass(1_000);
  const drained = first.drain();
  await world.pass(5_000);
  expect(await drained).toHaveLength(1);
  await second.start();
  await world.pass(1_000);
  gates[0]?.resolve();
  await world.pass(1_000);
  expect(ends).toEqual(["refused", "runs"]);
  expect(applied).toEqual([]);
  gates[1]?.resolve();
  await world.pass(1_000);
  expect(applied).toEqual([{ effects: [{ kind: "custom", value: 1 }], fence: fences[1] }]);
  expect(fences[1]).toBeGreaterThan(fences[0] ?? 0);
  expect([first, second].map((each) => each.snapshot().committed)).toEqual([0, 1]);
  expect(await world.ledger.stats()).toMatchObject([{ committed: 1 }]);
  expect(await world.depth()).toBe(0);
});

test("a first delivery needs no claim, but a redriven one does (C4)", async () => {
  const fences: (number | null)[] = [];
  await using world = await createConsumerWorld({
    pipeline: { lease: "receipt" },
    handler: (_event, { fence }) => void fences.push(fence),
  });
  await world.send("fresh");
  const [template] = await world.queue.receive(
    { max: 1, waitMs: 0 as never, visibilityMs: 0 as never },
    new AbortController().signal,
  );
  const body = (template?.body ?? "").replace("fresh", "again");
  const attributes = { "tidegate.redriven": "1" };
  await world.queue.sendBatch([{ body, attributes, groupId: null, dedupId: null }]);
  await world.queue.deleteBatch([template?.receipt ?? ""]);
  await world.send("fresh");
  await world.consumer().start();
  await world.pass(2_000);
  expect(fences).toContain(null);
  expect(fences.filter((fence) => fence !== null)).toHaveLength(1);
});

test("a duplicate of a record in progress without a claim is returned, too (C5)", async () => {
  const finish: (() => void)[] = [];
  await using world = await createConsumerWorld({
    pipeline: { lease: "receipt" },
    handler: () => new Promise<void>((resolve) => void finish.push(resolve)),
  });
  await world.send("same");
  await world.send("same");
  const consumer = world.consumer();
  await consumer.start();
  await world.pass(2_000);
  expect(finish).toHaveLength(1);
  expect(consumer.snapshot()).toMatchObject({ returned: 1, retried: 0 });
  finish[0]?.();
  await world.pass(10_000);
  expect(finish).toHaveLength(1);
  expect(await world.depth()).toBe(0);
  expect(consumer.snapshot()).toMatchObject({ committed: 1, duplicates: 1 });
});

test("the depth of the dead-letter queue is read once a minute, and soon after a new dead letter", async () => {
  let calls = 0;
  await using world = await createConsumerWorld({
    handler: () => {
      throw new PermanentError("never");
    },
    wrapDeadLetters: (inner) => ({
      ...inner,
      facts: () => {
        calls += 1;
        return inner.facts();
      },
    }),
  });
  await world.consumer().start();
  await world.pass(50_000);
  expect(calls).toBe(1);
  await world.pass(60_000);
  expect(calls).toBe(2);
  await world.send("poison");
  await world.pass(7_000);
  expect(calls).toBe(3);
});

/** A queue that holds its receive responses back until they are let through. */
function slowResponses() {
  let arrive = () => {};
  const arrived = new Promise<void>((resolve) => {
    arrive = resolve;
  });
  let calls = 0;
  const wrapQueue = (queue: Queue): Queue => ({
    ...queue,
    async receive(request, signal) {
      const deliveries = await queue.receive(request, signal);
      calls += 1;
      await arrived;
      return deliveries;
    },
  });
  return { wrapQueue, arrive: () => arrive(), calls: () => calls };
}

test("stopping waits for the receive in flight and returns its messages (U3)", async () => {
  const { wrapQueue, arrive, calls } = slowResponses();
  const handled: string[] = [];
  await using world = await createConsumerWorld({
    wrapQueue,
    handler: ({ envelope }) => void handled.push(envelope.dedupe_key),
  });
  await world.send("k");
  const consumer = world.consumer();
  await consumer.start();
  await world.settle();
  expect(calls()).toBe(1);
  const after: object[] = [];
  const stopped = consumer.stop().then(async () => void after.push(await world.queue.facts()));
  await world.settle();
  expect(after).toEqual([]);
  arrive();
  await world.settle();
  await stopped;
  expect(after).toMatchObject([{ visible: 1, hidden: 0 }]);
  expect(handled).toEqual([]);
});

test.each([
  ["stopping (U3)", "stop"],
  ["draining (U2)", "drain"],
] as const)(
  "a receive that ignores its abort does not keep a consumer from %s",
  async (_title, end) => {
    const { wrapQueue } = slowResponses();
    await using world = await createConsumerWorld({ wrapQueue });
    await world.send("k");
    const consumer = world.consumer();
    await consumer.start();
    await world.settle();
    let over = false;
    void consumer[end]().then(() => {
      over = true;
    });
    await world.pass(5_000);
    expect(over).toBe(true);
    expect(await world.depth()).toBe(1);
  },
);
