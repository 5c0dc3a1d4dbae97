import { expect, test } from "vitest";
import { entry, inGroup, ModelBench } from "../../../../test/support/broker/model-bench.ts";
import { SQS_IN_FLIGHT_MAX } from "../../../core/limits.ts";
import { durationMs } from "../../../core/units.ts";
import { sweepGarbage } from "../housekeeping.ts";
import type { ReceivedCopy } from "../operations.ts";

function only(deliveries: ReceivedCopy[]): ReceivedCopy {
  expect(deliveries).toHaveLength(1);
  return deliveries[0] as ReceivedCopy;
}

test("a receive takes at most `max` messages and hides them", () => {
  const bench = new ModelBench();
  bench.create("q");
  bench.send("q", ...["a", "b", "c"].map((body) => entry(body)));
  expect(bench.bodies("q", { max: 2 })).toEqual(["a", "b"]);
  expect(bench.bodies("q")).toEqual(["c"]);
  expect(bench.bodies("q")).toEqual([]);
  expect(bench.counts("q")).toEqual([0, 3, 0]);
});

test("a visibility timeout applies only to its receive, to the millisecond", () => {
  const bench = new ModelBench();
  bench.create("q", { VisibilityTimeout: "10" });
  bench.send("q", entry("a"));
  bench.receive("q", { visibilityMs: durationMs(2_000) });
  bench.pass(1_999);
  expect(bench.bodies("q")).toEqual([]);
  bench.pass(1);
  expect(bench.bodies("q")).toEqual(["a"]);
  bench.pass(9_999);
  expect(bench.bodies("q")).toEqual([]);
  bench.pass(1);
  expect(bench.bodies("q")).toEqual(["a"]);
});

test("a visibility timeout of zero delivers, counts, and leaves the message visible (R3)", () => {
  const bench = new ModelBench();
  bench.create("q");
  bench.send("q", entry("a"));
  const visibilityMs = durationMs(0);
  const first = only(bench.receive("q", { visibilityMs }));
  const second = only(bench.receive("q", { visibilityMs }));
  expect([first.receiveCount, second.receiveCount]).toEqual([1, 2]);
  expect(bench.counts("q")).toEqual([1, 0, 0]);
});

test("every receive has its own handle and count; the first receive stays the first", () => {
  const bench = new ModelBench();
  bench.create("q");
  bench.send("q", entry("a"));
  const sentAt = bench.now;
  bench.pass(7);
  const first = only(bench.receive("q"));
  bench.pass(30_000);
  const second = only(bench.receive("q"));
  expect(first).toMatchObject({ receiveCount: 1, sentAt, firstReceivedAt: sentAt + 7 });
  expect(second).toMatchObject({ receiveCount: 2, sentAt, firstReceivedAt: sentAt + 7 });
  expect(second.receiptHandle).not.toBe(first.receiptHandle);
  expect(second.messageId).toBe(first.messageId);
});

test("a message expires at the end of its retention, to the millisecond, in flight or not", () => {
  const bench = new ModelBench();
  bench.create("q", { MessageRetentionPeriod: "60" });
  bench.send("q", entry("a"));
  bench.pass(59_999);
  const held = only(bench.receive("q"));
  bench.pass(1);
  expect(bench.counts("q")).toEqual([0, 0, 0]);
  expect(bench.delete("q", held)).toEqual([null]);
  sweepGarbage(bench.state, bench.step);
  expect(bench.contents.size).toBe(0);
});

test("many messages that expire at once are never delivered, and all are erased", () => {
  const bench = new ModelBench();
  bench.create("q", { MessageRetentionPeriod: "60" });
  for (let remaining = 250; remaining > 0; remaining -= 1) {
    bench.send("q", ...Array.from({ length: 10 }, () => entry("old")));
  }
  bench.pass(60_000);
  bench.send("q", entry("new"));
  expect(bench.counts("q")).toEqual([1, 0, 0]);
  expect(bench.bodies("q")).toEqual(["new"]);
  for (let rounds = 5; rounds > 0; rounds -= 1) sweepGarbage(bench.state, bench.step);
  expect(bench.contents.size).toBe(1);
});

test("at the in-flight limit a standard queue refuses and a FIFO queue returns nothing", () => {
  const bench = new ModelBench();
  for (const name of ["q", "q.fifo"]) {
    const queue = bench.create(name);
    bench.send(name, inGroup("g", "last", name === "q" ? { dedupId: null } : {}));
    Object.defineProperty(queue, "inFlight", { get: () => SQS_IN_FLIGHT_MAX });
  }
  const input = { queue: "q", max: 1, waitMs: null, visibilityMs: null, attemptId: null };
  expect(bench.fault("receive", input).name).toBe("OverLimit");
  expect(bench.bodies("q.fifo")).toEqual([]);
});

test("a receive close to the limit takes only as many as the limit allows", () => {
  const bench = new ModelBench();
  const queue = bench.create("q");
  bench.send("q", entry("a"), entry("b"), entry("c"));
  Object.defineProperty(queue, "inFlight", { get: () => SQS_IN_FLIGHT_MAX - 2 });
  expect(bench.bodies("q")).toEqual(["a", "b"]);
});

test("an attempt id is for FIFO queues", () => {
  const bench = new ModelBench();
  bench.create("q");
  const input = { queue: "q", max: 1, waitMs: null, visibilityMs: null, attemptId: "x" };
  expect(bench.fault("receive", input)).toEqual({
    name: "InvalidParameterValue",
    message:
      "Value x for parameter ReceiveRequestAttemptId is invalid. Reason: The request include " +
      "parameter that is not valid for this queue type.",
  });
});

test("the queue's wait time applies if the receive has none", () => {
  const bench = new ModelBench();
  bench.create("q", { ReceiveMessageWaitTimeSeconds: "5" });
  const input = { queue: "q", max: 1, waitMs: null, visibilityMs: null, attemptId: null };
  expect(() => bench.run("receive", input)).toThrow("the receive waits");
  expect(bench.bodies("q", { waitMs: durationMs(0) })).toEqual([]);
  expect(bench.state.waiting.nextWakeAt()).toBe(bench.now + 5_000);
});
