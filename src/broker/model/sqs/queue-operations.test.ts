import { expect, test } from "vitest";
import { arn, entry, inGroup, ModelBench } from "../../../../test/support/broker/model-bench.ts";
import { sweepGarbage } from "../housekeeping.ts";

function createFault(bench: ModelBench, name: string, attributes: Record<string, string> = {}) {
  return bench.fault("createQueue", { name, attributes, tags: {} });
}

test.each([
  ["", {}],
  ["a/b", {}],
  ["a b", {}],
  ["é", {}],
  ["x".repeat(81), {}],
  ["q.fifo", {}],
  ["q", { FifoQueue: "true" }],
  [".fifo", { FifoQueue: "true" }],
  [`${"x".repeat(76)}.fifo`, { FifoQueue: "true" }],
])("the name %j with %j is refused", (name, attributes) => {
  expect(createFault(new ModelBench(), name, attributes).name).toBe("InvalidParameterValue");
});

test("names of eighty characters are accepted, the suffix included", () => {
  const bench = new ModelBench();
  expect(bench.create("x".repeat(80)).fifo).toBe(false);
  expect(bench.create(`${"x".repeat(75)}.fifo`).fifo).toBe(true);
});

test("creating a queue again returns the same one, if no attribute differs (O1)", () => {
  const bench = new ModelBench();
  bench.create("dead");
  const policy = (count: unknown) =>
    JSON.stringify({ maxReceiveCount: count, deadLetterTargetArn: arn("dead") });
  const queue = bench.create("q", { DelaySeconds: "5", RedrivePolicy: policy(3) });
  const again: Record<string, string>[] = [
    {},
    { DelaySeconds: "5" },
    { DelaySeconds: "05", VisibilityTimeout: "30" },
    { RedrivePolicy: policy("3") },
    { Policy: "" },
  ];
  for (const attributes of again) {
    bench.ok("createQueue", { name: "q", attributes, tags: { other: "tag" } });
    expect(bench.queue("q")).toBe(queue);
  }
  expect(queue.record.tags).toEqual({});
});

test("repeating an attribute is always valid, even if a new queue could not have it", () => {
  const bench = new ModelBench();
  bench.create("dead.fifo");
  const deadLetterTargetArn = arn("dead.fifo");
  const RedrivePolicy = JSON.stringify({ deadLetterTargetArn, maxReceiveCount: 3 });
  const fast = {
    DeduplicationScope: "messageGroup",
    FifoThroughputLimit: "perMessageGroupId",
    RedrivePolicy,
  };
  const queue = bench.create("q.fifo", fast);
  bench.ok("deleteQueue", { queue: "dead.fifo" });
  for (const [name, value] of Object.entries(fast)) {
    expect(bench.create("q.fifo", { [name]: value })).toBe(queue);
  }
  const spelled = RedrivePolicy.replace("3", ' "3" ');
  expect(bench.create("q.fifo", { RedrivePolicy: spelled })).toBe(queue);
  const fault = (attributes: Record<string, string>) =>
    createFault(bench, "q.fifo", { FifoQueue: "true", ...attributes }).name;
  expect(fault({ DeduplicationScope: "queue" })).toBe("QueueNameExists");
  const another = JSON.stringify({ deadLetterTargetArn, maxReceiveCount: 4 });
  expect(fault({ RedrivePolicy: another })).toBe("InvalidParameterValue");
});

test("creating a queue again with another value is refused, and the attribute is named", () => {
  const bench = new ModelBench();
  bench.create("q", { DelaySeconds: "5" });
  const exists = "A queue already exists with the same name and a different value for attribute";
  for (const [name, value] of [
    ["DelaySeconds", "6"],
    ["VisibilityTimeout", "31"],
    ["Policy", "{}"],
  ] as const) {
    expect(createFault(bench, "q", { [name]: value })).toEqual({
      name: "QueueNameExists",
      message: `${exists} ${name}`,
    });
  }
});

test("the name of a deleted queue stays reserved for sixty seconds, to the millisecond, and only that name", () => {
  const bench = new ModelBench();
  bench.create("q");
  bench.ok("deleteQueue", { queue: "q" });
  bench.create("other");
  bench.pass(59_999);
  expect(createFault(bench, "q")).toEqual({
    name: "QueueDeletedRecently",
    message:
      "You must wait 60 seconds after deleting a queue before you can create another with the " +
      "same name.",
  });
  bench.pass(1);
  bench.create("q");
});

test("a new queue under an old name has nothing of the old one", () => {
  const bench = new ModelBench();
  bench.create("q.fifo");
  bench.send("q.fifo", inGroup("g", "a"));
  const [delivery] = bench.receive("q.fifo");
  bench.ok("deleteQueue", { queue: "q.fifo" });
  bench.pass(60_000);
  bench.create("q.fifo");
  expect(bench.counts("q.fifo")).toEqual([0, 0, 0]);
  if (delivery === undefined) throw new Error("nothing was received");
  expect(bench.delete("q.fifo", delivery)[0]?.name).toBe("ReceiptHandleIsInvalid");
  const [sent] = bench.send("q.fifo", inGroup("g", "a"));
  expect(sent?.messageId).not.toBe(delivery.messageId);
});

test("every operation on a missing queue is refused", () => {
  const bench = new ModelBench();
  const queue = "none";
  const faults = [
    bench.fault("deleteQueue", { queue }),
    bench.fault("findQueue", { queue }),
    bench.fault("setQueueAttributes", { queue, attributes: {} }),
    bench.fault("purgeQueue", { queue }),
    bench.fault("tagQueue", { queue, tags: {} }),
    bench.fault("untagQueue", { queue, keys: [] }),
    bench.fault("listQueueTags", { queue }),
    bench.fault("addPermission", { queue, label: "l", accounts: [], actions: [] }),
    bench.fault("removePermission", { queue, label: "l" }),
    bench.fault("send", { queue, entries: [entry("x")], batch: false }),
    bench.fault("delete", { queue, handles: [] }),
    bench.fault("changeVisibility", { queue, entries: [] }),
    bench.fault("listDeadLetterSources", { queue, page: null }),
    bench.fault("peek", { queue, afterSeq: 0, limit: 1 }),
  ];
  for (const fault of faults) {
    expect(fault).toEqual({
      name: "QueueDoesNotExist",
      message: "The specified queue does not exist.",
    });
  }
});

test("a purge takes visible, in-flight and delayed messages and the deduplication ids", () => {
  const bench = new ModelBench();
  bench.create("q.fifo");
  bench.send("q.fifo", inGroup("a", "1"), inGroup("b", "2"));
  const [held] = bench.receive("q.fifo", { max: 1 });
  bench.set("q.fifo", { DelaySeconds: "900" });
  expect(bench.counts("q.fifo")).toEqual([0, 1, 1]);
  bench.ok("purgeQueue", { queue: "q.fifo" });
  expect(bench.counts("q.fifo")).toEqual([0, 0, 0]);
  if (held === undefined) throw new Error("nothing was received");
  expect(bench.delete("q.fifo", held)).toEqual([null]);
  bench.send("q.fifo", inGroup("a", "1"));
  expect(bench.counts("q.fifo")).toEqual([0, 0, 1]);
  expect(bench.state.slab.used).toBe(1);
});

test("purged messages are erased from disk step by step", () => {
  const bench = new ModelBench();
  bench.create("q");
  for (let remaining = 120; remaining > 0; remaining -= 1) {
    bench.send("q", ...Array.from({ length: 10 }, () => entry("x")));
  }
  bench.ok("purgeQueue", { queue: "q" });
  expect(bench.contents.size).toBe(1_200);
  bench.send("q", entry("new"));
  for (const remaining of [701, 201, 1, 1]) {
    sweepGarbage(bench.state, bench.step);
    expect(bench.contents.size).toBe(remaining);
  }
  expect(bench.bodies("q")).toEqual(["new"]);
});

test("a queue can be purged once a minute", () => {
  const bench = new ModelBench();
  bench.create("q");
  bench.ok("purgeQueue", { queue: "q" });
  bench.pass(59_999);
  expect(bench.fault("purgeQueue", { queue: "q" })).toEqual({
    name: "PurgeQueueInProgress",
    message: "Only one PurgeQueue operation on q is allowed every 60 seconds.",
  });
  bench.pass(1);
  bench.ok("purgeQueue", { queue: "q" });
});

test("a new delay holds for waiting messages of a FIFO queue, longer or shorter", () => {
  const bench = new ModelBench();
  bench.create("q.fifo", { DelaySeconds: "10" });
  bench.send("q.fifo", inGroup("a", "1"), inGroup("b", "2"));
  bench.pass(4_000);
  bench.set("q.fifo", { DelaySeconds: "5" });
  expect(bench.counts("q.fifo")).toEqual([0, 0, 2]);
  bench.pass(1_000);
  expect(bench.counts("q.fifo")).toEqual([2, 0, 0]);
  expect(bench.bodies("q.fifo", { max: 1 })).toEqual(["1"]);
  bench.set("q.fifo", { DelaySeconds: "20" });
  expect(bench.counts("q.fifo")).toEqual([0, 1, 1]); // The received one is unchanged.
  bench.pass(14_999);
  expect(bench.bodies("q.fifo")).toEqual([]);
  bench.pass(1);
  expect(bench.bodies("q.fifo")).toEqual(["2"]);
  const last = bench.changes.findLast(({ kind }) => kind === "update-receipt");
  expect(last).toBeDefined();
});

test("a new delay that has already passed shows the messages immediately", () => {
  const bench = new ModelBench();
  bench.create("q.fifo", { DelaySeconds: "100" });
  bench.send("q.fifo", inGroup("a", "1"), inGroup("a", "2"));
  bench.pass(1_000);
  bench.set("q.fifo", { DelaySeconds: "0" });
  expect(bench.bodies("q.fifo")).toEqual(["1", "2"]);
});

test("on a standard queue a new delay holds for new messages only", () => {
  const bench = new ModelBench();
  bench.create("q", { DelaySeconds: "10" });
  bench.send("q", entry("old"));
  bench.set("q", { DelaySeconds: "0" });
  bench.send("q", entry("new"));
  expect(bench.bodies("q")).toEqual(["new"]);
  bench.pass(10_000);
  expect(bench.bodies("q")).toEqual(["old"]);
});

test("a shorter retention also expires waiting messages, in flight or not", () => {
  const bench = new ModelBench();
  bench.create("q");
  bench.send("q", entry("a"), entry("b"));
  bench.receive("q", { max: 1, visibilityMs: 600_000 as never });
  bench.pass(60_000);
  bench.set("q", { MessageRetentionPeriod: "60" });
  expect(bench.counts("q")).toEqual([0, 0, 0]);
});

test("tag keys are case-sensitive, values may be empty, and removing a missing tag succeeds", () => {
  const bench = new ModelBench();
  bench.create("q");
  bench.ok("tagQueue", { queue: "q", tags: { Owner: "a", owner: "", x: "1" } });
  bench.ok("tagQueue", { queue: "q", tags: { x: "2" } });
  bench.ok("untagQueue", { queue: "q", keys: ["Owner", "unknown"] });
  expect(bench.ok("listQueueTags", { queue: "q" }).tags).toEqual({ owner: "", x: "2" });
});

test("a queue has at most fifty tags, counted after the change", () => {
  const bench = new ModelBench();
  bench.create("q");
  const tags = Object.fromEntries(Array.from({ length: 50 }, (_, index) => [`k${index}`, ""]));
  bench.ok("tagQueue", { queue: "q", tags });
  bench.ok("tagQueue", { queue: "q", tags: { k0: "again" } });
  const fault = bench.fault("tagQueue", { queue: "q", tags: { more: "" } });
  expect(fault.name).toBe("InvalidParameterValue");
  expect(Object.keys(bench.ok("listQueueTags", { queue: "q" }).tags)).toHaveLength(50);
});
