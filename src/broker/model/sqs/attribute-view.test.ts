import { expect, test } from "vitest";
import { arn, entry, ModelBench } from "../../../../test/support/broker/model-bench.ts";

const STANDARD = {
  ApproximateNumberOfMessages: "0",
  ApproximateNumberOfMessagesDelayed: "0",
  ApproximateNumberOfMessagesNotVisible: "0",
  CreatedTimestamp: "1700000000",
  LastModifiedTimestamp: "1700000000",
  DelaySeconds: "0",
  MaximumMessageSize: "1048576",
  MessageRetentionPeriod: "345600",
  QueueArn: arn("q"),
  ReceiveMessageWaitTimeSeconds: "0",
  SqsManagedSseEnabled: "true",
  VisibilityTimeout: "30",
};

test("a new standard queue shows AWS's defaults and nothing else", () => {
  const bench = new ModelBench();
  bench.create("q");
  expect(bench.attributes("q")).toEqual(STANDARD);
});

test("a new FIFO queue shows four attributes more", () => {
  const bench = new ModelBench();
  bench.create("q.fifo");
  expect(bench.attributes("q.fifo")).toEqual({
    ...STANDARD,
    QueueArn: arn("q.fifo"),
    FifoQueue: "true",
    ContentBasedDeduplication: "false",
    DeduplicationScope: "queue",
    FifoThroughputLimit: "perQueue",
  });
});

test("only the names asked for are shown; none asked for, none shown", () => {
  const bench = new ModelBench();
  bench.create("q");
  const get = (...names: string[]) =>
    bench.ok("getQueueAttributes", { queue: "q", names }).attributes;
  expect(get()).toEqual({});
  expect(get("DelaySeconds", "QueueArn")).toEqual({ DelaySeconds: "0", QueueArn: arn("q") });
  expect(get("Policy", "RedrivePolicy", "KmsMasterKeyId")).toEqual({});
  expect(get("VisibilityTimeout", "All")).toEqual(STANDARD);
});

test("an unknown name is refused, even beside All", () => {
  const bench = new ModelBench();
  bench.create("q");
  for (const unknown of ["Foobar", "__proto__", "toString", ""]) {
    const names = ["All", unknown];
    expect(bench.fault("getQueueAttributes", { queue: "q", names })).toEqual({
      name: "InvalidAttributeName",
      message: `Unknown Attribute ${unknown}.`,
    });
  }
  expect(bench.fault("getQueueAttributes", { queue: "none", names: [] }).name).toBe(
    "QueueDoesNotExist",
  );
});

test("counts are those of this very moment: what is due has happened", () => {
  const bench = new ModelBench();
  bench.create("q", { MessageRetentionPeriod: "60" });
  const delayMs = 5_000 as never;
  bench.send("q", entry("a"), entry("b"), entry("late", { delayMs }));
  bench.receive("q", { max: 1 });
  const counts = () => {
    const shown = bench.attributes("q");
    return [
      shown.ApproximateNumberOfMessages,
      shown.ApproximateNumberOfMessagesNotVisible,
      shown.ApproximateNumberOfMessagesDelayed,
    ].join("/");
  };
  expect(counts()).toBe("1/1/1");
  bench.pass(4_999);
  expect(counts()).toBe("1/1/1");
  bench.pass(1);
  expect(counts()).toBe("2/1/0");
  bench.pass(25_000);
  expect(counts()).toBe("3/0/0");
  bench.pass(29_999);
  expect(counts()).toBe("3/0/0");
  bench.pass(1);
  expect(counts()).toBe("0/0/0");
});

test("the time of the last change is that of the attributes, in whole seconds", () => {
  const bench = new ModelBench();
  bench.create("q");
  bench.pass(1_999);
  bench.set("q", { DelaySeconds: "1" });
  expect(bench.attributes("q")).toMatchObject({
    CreatedTimestamp: "1700000000",
    LastModifiedTimestamp: "1700000001",
  });
});
