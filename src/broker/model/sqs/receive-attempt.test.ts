import { expect, test } from "vitest";
import { inGroup, ModelBench, receiveInput } from "../../../../test/support/broker/model-bench.ts";
import { durationMs } from "../../../core/units.ts";
import { runHousekeeping } from "../housekeeping.ts";
import type { ReceivedCopy } from "../operations.ts";

const Q = "q.fifo";
const attemptId = "try-1";

function createBench(): ModelBench {
  const bench = new ModelBench();
  bench.create(Q, { VisibilityTimeout: "400" });
  bench.send(Q, inGroup("a", "1"), inGroup("a", "2"), inGroup("b", "3"));
  return bench;
}

const REFUSED = {
  name: "InvalidParameterValue",
  message:
    "Value try-1 for parameter ReceiveRequestAttemptId is invalid. Reason: The " +
    "receiveRequestAttemptId is not valid anymore since the receive call is not retryable.",
};

test("the same attempt returns the same messages and handles and hides them again (A1)", () => {
  const bench = createBench();
  const first = bench.receive(Q, { attemptId, max: 2 });
  bench.pass(299_999);
  expect(bench.receive(Q, { attemptId, max: 2 })).toEqual(first);
  bench.pass(399_999);
  expect(bench.counts(Q)).toEqual([1, 2, 0]);
  bench.pass(1);
  expect(bench.counts(Q)).toEqual([3, 0, 0]);
});

test("after five minutes the id can be reused", () => {
  const bench = createBench();
  bench.receive(Q, { attemptId, max: 2 });
  bench.pass(300_000);
  expect(bench.bodies(Q, { attemptId })).toEqual(["3"]);
});

test("repeating does not lengthen the five minutes", () => {
  const bench = createBench();
  bench.receive(Q, { attemptId, max: 2 });
  bench.pass(200_000);
  expect(bench.bodies(Q, { attemptId, max: 2 })).toEqual(["1", "2"]);
  bench.pass(100_000);
  expect(bench.bodies(Q, { attemptId })).toEqual(["3"]);
});

test("once a message was deleted or its visibility changed, the attempt is refused (A1)", () => {
  const meddle = [
    (bench: ModelBench, delivery: ReceivedCopy) => bench.delete(Q, delivery),
    (bench: ModelBench, delivery: ReceivedCopy) => bench.change(Q, delivery, 0),
    (bench: ModelBench, delivery: ReceivedCopy) => bench.change(Q, delivery, 500_000),
  ];
  for (const change of meddle) {
    const bench = createBench();
    const [, second] = bench.receive(Q, { attemptId, max: 2 });
    change(bench, second as ReceivedCopy);
    expect(bench.fault("receive", receiveInput(Q, { attemptId }))).toEqual(REFUSED);
  }
});

test("once the visibility timeout is over, the id can be reused (A2)", () => {
  const bench = createBench();
  const first = bench.receive(Q, { attemptId, max: 2, visibilityMs: durationMs(10_000) });
  bench.pass(10_000);
  const second = bench.receive(Q, { attemptId, max: 2 });
  // The group went to the back of the line meanwhile.
  expect(second.map(({ body }) => body)).toEqual(["3", "1"]);
  expect(second.map(({ receiptHandle }) => receiptHandle)).not.toEqual(
    first.map(({ receiptHandle }) => receiptHandle),
  );
});

test("repeated with a visibility timeout of zero, the messages are visible, on disk too", () => {
  const bench = createBench();
  const first = bench.receive(Q, { attemptId, max: 2 });
  bench.pass(1_000);
  expect(bench.receive(Q, { attemptId, max: 2, visibilityMs: durationMs(0) })).toEqual(first);
  expect(bench.counts(Q)).toEqual([3, 0, 0]);
  const receipts = bench.changes.filter((change) => change.kind === "update-receipt");
  expect(receipts.slice(-2).map(({ dueAt }) => dueAt)).toEqual([bench.now, bench.now]);
});

test("an attempt without messages is not stored", () => {
  const bench = new ModelBench();
  bench.create(Q);
  expect(bench.receive(Q, { attemptId })).toEqual([]);
  bench.send(Q, inGroup("a", "1"));
  expect(bench.bodies(Q, { attemptId })).toEqual(["1"]);
});

test("attempts are separate per queue, and housekeeping deletes expired ones", () => {
  const bench = createBench();
  bench.create("other.fifo");
  bench.send("other.fifo", inGroup("x", "elsewhere"));
  bench.receive(Q, { attemptId, max: 2 });
  expect(bench.bodies("other.fifo", { attemptId })).toEqual(["elsewhere"]);
  expect(bench.state.attempts.size).toBe(2);
  bench.ok("deleteQueue", { queue: "other.fifo" });
  runHousekeeping(bench.state, bench.step);
  expect(bench.state.attempts.size).toBe(1);
  bench.pass(300_000);
  runHousekeeping(bench.state, bench.step);
  expect(bench.state.attempts.size).toBe(0);
  const gone = bench.changes.filter(
    (change) => change.kind === "delete-document" && change.collection === "attempt",
  );
  expect(gone).toHaveLength(2);
});
