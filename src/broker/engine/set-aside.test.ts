import { expect, test } from "vitest";
import { EngineBench, engineTurns } from "../../../test/support/broker/engine-bench.ts";
import { arn, entry, inGroup } from "../../../test/support/broker/model-bench.ts";
import { TidegateError } from "../../core/errors.ts";
import { durationMs } from "../../core/units.ts";
import type { BrokerStore } from "../../ports/broker/broker-store.ts";
import { createMemoryBrokerStore } from "../../stores/memory/broker-store.ts";

/** A store that damages the messages a test chooses. */
function createFadingStore() {
  const inner = createMemoryBrokerStore();
  const damaged = new Set<number>();
  const store: BrokerStore = {
    objects: inner.objects,
    load: () => inner.load(),
    commit: (changes) => inner.commit(changes),
    close: () => inner.close(),
    read(seq) {
      if (damaged.has(seq))
        throw new TidegateError("TG_STORE_CORRUPT", `message ${seq} is damaged`);
      return inner.read(seq);
    },
  };
  return { store, damaged };
}

async function openFading(onError?: (error: unknown) => void) {
  const { store, damaged } = createFadingStore();
  const bench = await EngineBench.open({ store, cacheBytes: 0, ...(onError && { onError }) });
  return { bench, store, damaged };
}

async function numbersIn(bench: EngineBench, queue: string): Promise<number[]> {
  const { messages } = await bench.ok("peek", { queue, afterSeq: 0, limit: 100 });
  return messages.map(({ seq }) => seq);
}

test("a damaged message fails the first batch that reads it, and nothing after that (A1)", async () => {
  const { bench, damaged } = await openFading();
  await bench.create("q");
  await bench.create("other");
  for (const body of ["a", "b", "c"]) await bench.send("q", entry(body));
  damaged.add((await numbersIn(bench, "q"))[0] as number);
  await expect(bench.receive("q")).rejects.toThrow(/message \d+ is damaged/);
  // No time passes on this bench, so no pause rejects the others.
  await bench.send("other", entry("d"));
  expect((await bench.receive("q", { max: 10 })).map(({ body }) => body)).toEqual(["b", "c"]);
});

test("a damaged message is not erased, and the next start tries it again (A2)", async () => {
  const { bench, store, damaged } = await openFading();
  await bench.create("q.fifo");
  await bench.send("q.fifo", inGroup("g", "a"), inGroup("g", "b"));
  damaged.add((await numbersIn(bench, "q.fifo"))[0] as number);
  await expect(bench.receive("q.fifo")).rejects.toThrow("is damaged");
  expect((await bench.receive("q.fifo")).map(({ body }) => body)).toEqual(["b"]);
  await bench.broker.close();
  damaged.clear();
  const again = await EngineBench.open({ store });
  expect((await again.receive("q.fifo")).map(({ body }) => body)).toEqual(["a"]);
});

test("damaged neighbours cost no reload of their own (A3)", async () => {
  const { bench, damaged } = await openFading();
  await bench.create("q");
  for (let sent = 0; sent < 30; sent += 1) await bench.send("q", entry(`${sent}`));
  for (const seq of (await numbersIn(bench, "q")).slice(0, 20)) damaged.add(seq);
  const { loads } = bench.store;
  await expect(bench.receive("q")).rejects.toThrow("is damaged");
  expect((await bench.receive("q", { max: 10 })).map(({ body }) => body)[0]).toBe("20");
  expect(bench.store.loads - loads).toBe(1);
});

test("a move task skips a damaged message, which is reported", async () => {
  const errors: unknown[] = [];
  const { bench, damaged } = await openFading((error) => errors.push(error));
  await bench.create("dead");
  const policy = { deadLetterTargetArn: arn("dead"), maxReceiveCount: 1 };
  await bench.create("q", { RedrivePolicy: JSON.stringify(policy) });
  await bench.send("dead", entry("a"), entry("b"));
  const [first = 0] = await numbersIn(bench, "dead");
  const task = { sourceArn: arn("dead"), destinationArn: arn("q"), perSecondMax: 1 };
  await bench.ok("startMoveTask", task);
  await bench.send("dead", entry("c"));
  const [next = 0] = await numbersIn(bench, "dead");
  expect(next).toBeGreaterThan(first);
  damaged.add(next);
  await bench.pass(1_000);
  await engineTurns();
  await bench.pass(10_000);
  const bodies = (await bench.receive("q", { max: 10, waitMs: durationMs(0) })).map((m) => m.body);
  expect(bodies).toEqual(["a", "c"]);
  expect(errors.map(String)).toEqual([expect.stringContaining(`message ${next} is damaged`)]);
});

test("an operation that fails by a bug does not fail later operations (W9)", async () => {
  const { store } = createFadingStore();
  const bench = await EngineBench.open({
    store: {
      ...store,
      read() {
        throw new RangeError("a bug");
      },
    },
    cacheBytes: 0,
  });
  await bench.create("q");
  await bench.send("q", entry("a"));
  await expect(bench.receive("q")).rejects.toThrow("a bug");
  await bench.send("q", entry("b")); // No time has passed.
});
