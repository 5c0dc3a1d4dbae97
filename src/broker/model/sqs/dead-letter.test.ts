import { expect, test } from "vitest";
import {
  arn,
  bodiesOf,
  entry,
  inGroup,
  ModelBench,
} from "../../../../test/support/broker/model-bench.ts";
import { durationMs } from "../../../core/units.ts";
import type { ReceivedCopy } from "../operations.ts";
import { DEAD_LETTERS_PER_RECEIVE_MAX } from "./receive-now.ts";

function redriveTo(target: string, maxReceiveCount: number) {
  const deadLetterTargetArn = arn(target);
  return { RedrivePolicy: JSON.stringify({ deadLetterTargetArn, maxReceiveCount }) };
}

/** Receives until the visibility timeout is over, `times` times. */
function fail(bench: ModelBench, queue: string, times: number): ReceivedCopy[] {
  return Array.from({ length: times }, () => {
    const [delivery] = bench.receive(queue, { max: 1 });
    bench.pass(30_000);
    return delivery as ReceivedCopy;
  });
}

test("a message moves with the receive that would exceed the limit, and not before", () => {
  const bench = new ModelBench();
  bench.create("dead");
  bench.create("q", redriveTo("dead", 2));
  bench.send("q", entry("a"));
  expect(fail(bench, "q", 2).map(({ receiveCount }) => receiveCount)).toEqual([1, 2]);
  bench.pass(60_000);
  expect(bench.counts("dead")).toEqual([0, 0, 0]);
  expect(bench.counts("q")).toEqual([1, 0, 0]);
  expect(bench.bodies("q")).toEqual([]);
  expect(bench.counts("q")).toEqual([0, 0, 0]);
  expect(bench.counts("dead")).toEqual([1, 0, 0]);
});

test("the receive that moves dead letters still delivers the others", () => {
  const bench = new ModelBench();
  bench.create("dead");
  bench.create("q", redriveTo("dead", 1));
  bench.send("q", entry("bad"));
  fail(bench, "q", 1);
  bench.send("q", entry("good"));
  expect(bench.bodies("q", { max: 1 })).toEqual(["good"]);
  expect(bench.bodies("dead")).toEqual(["bad"]);
});

test("a standard dead letter keeps id, body, attributes, trace and time; its count continues", () => {
  const bench = new ModelBench();
  bench.create("dead");
  bench.create("q", redriveTo("dead", 1));
  const attributes = { color: { type: "String", value: "blue" } };
  bench.send("q", entry("a", { attributes, traceHeader: "Root=1", groupId: "tenant" }));
  const sentAt = bench.now;
  bench.pass(5);
  const [first] = fail(bench, "q", 1) as [ReceivedCopy];
  bench.receive("q");
  const [dead] = bench.receive("dead") as [ReceivedCopy];
  expect(dead).toEqual({
    ...first,
    receiptHandle: dead.receiptHandle,
    receiveCount: 2,
    sentAt,
    firstReceivedAt: sentAt + 5,
    sourceArn: arn("q"),
  });
  expect(first.sourceArn).toBe(null);
});

test("the move is one change: never is the message in both queues or in neither (L1)", () => {
  const bench = new ModelBench();
  bench.create("dead");
  bench.create("q", redriveTo("dead", 1));
  bench.send("q", entry("a"));
  fail(bench, "q", 1);
  const before = bench.changes.length;
  bench.receive("q");
  expect(bench.changes.slice(before).map(({ kind }) => kind)).toEqual(["move-message"]);
});

test("retention in a standard dead-letter queue counts from the first sending", () => {
  const bench = new ModelBench();
  bench.create("dead", { MessageRetentionPeriod: "60" });
  bench.create("q", redriveTo("dead", 1));
  bench.send("q", entry("a"));
  fail(bench, "q", 1);
  bench.receive("q");
  bench.pass(29_999);
  expect(bench.counts("dead")).toEqual([1, 0, 0]);
  bench.pass(1);
  expect(bench.counts("dead")).toEqual([0, 0, 0]);
});

test("a FIFO dead letter gets its id as deduplication id, a new number and a new clock", () => {
  const bench = new ModelBench();
  bench.create("dead.fifo", { MessageRetentionPeriod: "60" });
  bench.create("q.fifo", redriveTo("dead.fifo", 1));
  bench.send("q.fifo", inGroup("g", "a"));
  bench.send("dead.fifo", inGroup("g", "other", { dedupId: "a" })); // Would swallow it otherwise.
  const [first] = fail(bench, "q.fifo", 1) as [ReceivedCopy];
  bench.receive("q.fifo");
  const movedAt = bench.now;
  const [, dead] = bench.receive("dead.fifo", { visibilityMs: durationMs(0) });
  expect(dead).toMatchObject({
    messageId: first.messageId,
    dedupId: first.messageId,
    groupId: "g",
    sentAt: movedAt,
    receiveCount: 2,
    sourceArn: arn("q.fifo"),
  });
  expect((dead?.sequenceNumber ?? "") > (first.sequenceNumber ?? "")).toBe(true);
  bench.pass(59_999);
  expect(bench.counts("dead.fifo")[0]).toBe(1);
});

test("moving a FIFO message frees its group", () => {
  const bench = new ModelBench();
  bench.create("dead.fifo");
  bench.create("q.fifo", redriveTo("dead.fifo", 1));
  bench.send("q.fifo", inGroup("g", "1"), inGroup("g", "2"), inGroup("g", "3"));
  fail(bench, "q.fifo", 1);
  expect(bench.bodies("q.fifo", { max: 1 })).toEqual(["2"]);
  expect(bench.bodies("dead.fifo")).toEqual(["1"]);
});

test("in a chain each queue counts its own receives (L3)", () => {
  const bench = new ModelBench();
  bench.create("q3");
  bench.create("q2", redriveTo("q3", 2));
  bench.create("q1", redriveTo("q2", 1));
  bench.send("q1", entry("a"));
  fail(bench, "q1", 1);
  expect(bench.bodies("q1")).toEqual([]);
  const inSecond = fail(bench, "q2", 2);
  expect(inSecond.map(({ receiveCount }) => receiveCount)).toEqual([2, 3]);
  expect(bench.bodies("q2")).toEqual([]);
  expect(bench.receive("q3")).toMatchObject([{ receiveCount: 4, sourceArn: arn("q2") }]);
});

test("a queue that is its own dead-letter queue keeps delivering, with a growing count", () => {
  for (const name of ["q", "q.fifo"]) {
    const bench = new ModelBench();
    bench.create(name, redriveTo(name, 2));
    bench.send(name, name === "q" ? entry("a") : inGroup("g", "a"));
    const counts = fail(bench, name, 5).map(({ receiveCount }) => receiveCount);
    expect(counts).toEqual([1, 2, 3, 4, 5]);
    expect(bench.counts(name)).toEqual([1, 0, 0]);
    expect(bench.state.slab.used).toBe(1);
  }
});

test("without its dead-letter queue a message is delivered as without a policy", () => {
  const bench = new ModelBench();
  bench.create("dead");
  bench.create("q", redriveTo("dead", 1));
  bench.send("q", entry("a"));
  bench.ok("deleteQueue", { queue: "dead" });
  expect(fail(bench, "q", 3).map(({ body }) => body)).toEqual(["a", "a", "a"]);
});

test("a policy that is set later finds the messages that were received too often before", () => {
  const bench = new ModelBench();
  bench.create("dead");
  bench.create("q");
  bench.send("q", entry("a"));
  fail(bench, "q", 3);
  bench.set("q", redriveTo("dead", 3));
  expect(bench.bodies("q")).toEqual([]);
  expect(bench.bodies("dead")).toEqual(["a"]);
});

test("one receive moves a limited number of dead letters; long polls look again", () => {
  const bench = new ModelBench();
  bench.create("dead");
  bench.create("q");
  const bad = DEAD_LETTERS_PER_RECEIVE_MAX + 5;
  for (let remaining = bad; remaining > 0; remaining -= 1) bench.send("q", entry("bad"));
  while (bench.receive("q").length > 0);
  bench.pass(30_000);
  bench.send("q", entry("good"));
  bench.set("q", redriveTo("dead", 1));
  const id = bench.poll("q", 20_000);
  expect(bench.counts("dead")).toEqual([DEAD_LETTERS_PER_RECEIVE_MAX, 0, 0]);
  expect((bench.state.waiting.nextWakeAt() ?? bench.now + 1) <= bench.now).toBe(true);
  expect(bodiesOf(bench.answerLongPolls().get(id))).toEqual(["good"]);
  expect(bench.counts("dead")).toEqual([bad, 0, 0]);
});

test("a long poll for dead letters is answered by the step that moves them, in any order", () => {
  for (const order of [
    ["dead", "q"],
    ["q", "dead"],
  ]) {
    const bench = new ModelBench();
    bench.create("dead");
    bench.create("q", redriveTo("dead", 1));
    bench.send("q", entry("a"));
    bench.receive("q");
    const ids = new Map(order.map((name) => [name, bench.poll(name, 60_000)]));
    bench.pass(30_000);
    const answers = bench.answerLongPolls();
    expect(bodiesOf(answers.get(ids.get("dead") ?? 0))).toEqual(["a"]);
    expect(answers.has(ids.get("q") ?? 0)).toBe(false);
  }
});
