import fc from "fast-check";
import { expect, test } from "vitest";
import { entry, inGroup, ModelBench } from "../../../../test/support/broker/model-bench.ts";
import { sha256Hex } from "../../../core/encoding/hash.ts";
import { durationMs } from "../../../core/units.ts";
import type { SendEntry } from "../operations.ts";

function one(bench: ModelBench, queue: string, sent: SendEntry) {
  return bench.fault("send", { queue, entries: [sent], batch: false });
}

test("a standard queue answers without a sequence number, a FIFO queue with one", () => {
  const bench = new ModelBench();
  bench.create("q");
  bench.create("q.fifo");
  expect(bench.send("q", entry("a"))[0]?.sequenceNumber).toBe(null);
  const numbers = bench
    .send("q.fifo", inGroup("g", "a"), inGroup("g", "b"), inGroup("h", "c"))
    .map(({ sequenceNumber }) => sequenceNumber as string);
  expect(numbers).toEqual(numbers.toSorted());
  expect(new Set(numbers).size).toBe(3);
});

test("a message of the maximum size is accepted; one byte more is refused", () => {
  const bench = new ModelBench();
  bench.create("q", { MaximumMessageSize: "1024" });
  bench.send("q", entry("x", { sizeBytes: 1_024 }));
  const long = entry("x", { sizeBytes: 1_025 });
  expect(one(bench, "q", long)).toEqual({
    name: "InvalidParameterValue",
    message: "One or more parameters are invalid. Reason: Message must be shorter than 1024 bytes.",
  });
  const { results } = bench.ok("send", { queue: "q", entries: [long, entry("y")], batch: true });
  expect(results).toMatchObject([
    {
      ok: false,
      fault: {
        message:
          "One or more parameters cannot be validated. Reason: Message must be shorter than " +
          "1024 bytes.",
      },
    },
    { ok: true },
  ]);
  expect(bench.counts("q")).toEqual([2, 0, 0]);
});

test("a standard queue refuses a deduplication id and accepts a group id", () => {
  const bench = new ModelBench();
  bench.create("q");
  expect(one(bench, "q", entry("x", { dedupId: "d" })).name).toBe("InvalidParameterValue");
  bench.send("q", entry("x", { groupId: "tenant" }));
  expect(bench.receive("q")[0]?.groupId).toBe("tenant");
});

test("a FIFO queue requires a group, and an id without content-based deduplication", () => {
  const bench = new ModelBench();
  bench.create("q.fifo");
  expect(one(bench, "q.fifo", entry("x", { dedupId: "d" }))).toEqual({
    name: "MissingParameter",
    message: "The request must contain the parameter MessageGroupId.",
  });
  expect(one(bench, "q.fifo", entry("x", { groupId: "g" }))).toEqual({
    name: "InvalidParameterValue",
    message:
      "The queue should either have ContentBasedDeduplication enabled or " +
      "MessageDeduplicationId provided explicitly",
  });
});

test("in a FIFO batch one entry without its ids fails the whole request, and stores nothing", () => {
  const bench = new ModelBench();
  bench.create("q.fifo");
  for (const bad of [entry("x", { dedupId: "d" }), entry("x", { groupId: "g" })]) {
    const entries = [inGroup("g", "good"), bad];
    const fault = bench.fault("send", { queue: "q.fifo", entries, batch: true });
    expect(fault.name).toBe("InvalidParameterValue");
  }
  expect(bench.counts("q.fifo")).toEqual([0, 0, 0]);
});

test("a FIFO message has no delay of its own; with zero the queue's delay still applies", () => {
  const bench = new ModelBench();
  bench.create("q.fifo", { DelaySeconds: "3" });
  expect(one(bench, "q.fifo", inGroup("g", "x", { delayMs: durationMs(2_000) }))).toEqual({
    name: "InvalidParameterValue",
    message:
      "Value 2 for parameter DelaySeconds is invalid. Reason: The request include parameter " +
      "that is not valid for this queue type.",
  });
  bench.send("q.fifo", inGroup("g", "x", { delayMs: durationMs(0) }));
  bench.pass(2_999);
  expect(bench.bodies("q.fifo")).toEqual([]);
  bench.pass(1);
  expect(bench.bodies("q.fifo")).toEqual(["x"]);
});

test("on a standard queue a message's delay overrides the queue's, zero included", () => {
  const bench = new ModelBench();
  bench.create("q", { DelaySeconds: "10" });
  const delayed = (delayMs: number) => entry(`${delayMs}`, { delayMs: durationMs(delayMs) });
  bench.send("q", delayed(0), delayed(5_000), entry("queue"));
  expect(bench.bodies("q")).toEqual(["0"]);
  bench.pass(5_000);
  expect(bench.bodies("q")).toEqual(["5000"]);
  bench.pass(5_000);
  expect(bench.bodies("q")).toEqual(["queue"]);
});

test("content-based ids are the digest of the body; an explicit id overrides it", () => {
  const bench = new ModelBench();
  bench.create("q.fifo", { ContentBasedDeduplication: "true" });
  const [first, same, own, digest] = bench.send(
    "q.fifo",
    entry("same", { groupId: "g" }),
    entry("same", { groupId: "g" }),
    entry("same", { groupId: "g", dedupId: "own" }),
    entry("else", { groupId: "g", dedupId: sha256Hex("same") }),
  );
  expect(same).toEqual(first);
  expect(digest).toEqual(first);
  expect(own?.messageId).not.toBe(first?.messageId);
  expect(bench.receive("q.fifo").map(({ dedupId }) => dedupId)).toEqual([sha256Hex("same"), "own"]);
});

test("the scope is what the queue was created with; changing it later changes nothing", () => {
  const bench = new ModelBench();
  bench.create("whole.fifo");
  bench.create("parts.fifo", { DeduplicationScope: "messageGroup" });
  for (const round of [1, 2]) {
    for (const queue of ["whole.fifo", "parts.fifo"]) {
      bench.send(queue, inGroup("a", `${round}`), inGroup("b", `${round}`));
    }
    bench.set("whole.fifo", { DeduplicationScope: "messageGroup" });
    bench.set("parts.fifo", { DeduplicationScope: "queue" });
  }
  expect(bench.counts("whole.fifo")).toEqual([2, 0, 0]);
  expect(bench.counts("parts.fifo")).toEqual([4, 0, 0]);
});

test("a message is received as it was sent, attributes and trace header included", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary", minLength: 1 }), fc.boolean(), (body, rich) => {
      const bench = new ModelBench();
      bench.create("q");
      const attributes = rich ? { color: { type: "String", value: body } } : null;
      const traceHeader = rich ? "Root=1" : null;
      const [sent] = bench.send("q", entry(body, { attributes, traceHeader }));
      expect(bench.receive("q")).toMatchObject([
        { messageId: sent?.messageId, body, attributes, traceHeader, sentAt: bench.now },
      ]);
    }),
    { numRuns: 40 },
  );
});
