import { expect, test } from "vitest";
import { arn, ModelBench } from "../../../../test/support/broker/model-bench.ts";

function createBench(): ModelBench {
  const bench = new ModelBench();
  bench.create("q");
  bench.create("q.fifo");
  return bench;
}

function refusal(bench: ModelBench, queue: string, attributes: Record<string, string>) {
  return bench.fault("setQueueAttributes", { queue, attributes });
}

test.each([
  ["VisibilityTimeout", 0, 43_200],
  ["DelaySeconds", 0, 900],
  ["MaximumMessageSize", 1_024, 1_048_576],
  ["MessageRetentionPeriod", 60, 1_209_600],
  ["ReceiveMessageWaitTimeSeconds", 0, 20],
  ["KmsDataKeyReusePeriodSeconds", 60, 86_400],
] as const)("%s takes %d to %d and nothing outside", (name, min, max) => {
  const bench = createBench();
  bench.set("q", { KmsMasterKeyId: "alias/own" }); // Without a key its reuse period is not shown.
  for (const value of [min, max]) {
    bench.set("q", { [name]: String(value) });
    expect(bench.attributes("q")[name]).toBe(String(value));
  }
  for (const value of [min - 1, max + 1, "", "x", "1.5", "1e1", " 60", "0x40"]) {
    const { name: fault } = refusal(bench, "q", { [name]: String(value) });
    expect(fault).toBe("InvalidAttributeValue");
  }
  expect(bench.attributes("q")[name]).toBe(String(max));
});

test("numbers are stored without leading zeros, so that equal settings compare equal", () => {
  const bench = createBench();
  bench.set("q", { VisibilityTimeout: "007" });
  expect(bench.attributes("q").VisibilityTimeout).toBe("7");
});

test.each(["FifoQueue", "ContentBasedDeduplication"])(
  "a standard queue does not know %s",
  (name) => {
    for (const value of ["true", "false"]) {
      const fault = refusal(createBench(), "q", { [name]: value });
      expect(fault).toEqual({
        name: "InvalidAttributeName",
        message: `Unknown Attribute ${name}.`,
      });
    }
  },
);

test.each([
  ["DeduplicationScope", "queue"],
  ["FifoThroughputLimit", "perQueue"],
])("%s belongs to FIFO queues", (name, value) => {
  expect(refusal(createBench(), "q", { [name]: value })).toEqual({
    name: "InvalidAttributeName",
    message: `You can specify the ${name} only when FifoQueue is set to true.`,
  });
});

test("the type of a queue cannot be changed", () => {
  const bench = createBench();
  bench.set("q.fifo", { FifoQueue: "true" });
  expect(refusal(bench, "q.fifo", { FifoQueue: "false" })).toEqual({
    name: "InvalidAttributeValue",
    message:
      "Invalid value for the parameter FifoQueue. Reason: Modifying queue type is not supported.",
  });
});

test("unknown names are refused, including those of Object.prototype", () => {
  for (const name of ["Foobar", "__proto__", "constructor", "toString", "QueueArn", "All"]) {
    const attributes = JSON.parse(`{"${name}":"1"}`) as Record<string, string>;
    expect(refusal(createBench(), "q", attributes)).toEqual({
      name: "InvalidAttributeName",
      message: `Unknown Attribute ${name}.`,
    });
  }
});

test("nothing is set unless everything given is valid (A3)", () => {
  const bench = createBench();
  const before = bench.attributes("q");
  refusal(bench, "q", { VisibilityTimeout: "5", DelaySeconds: "901" });
  expect(bench.attributes("q")).toEqual(before);
});

test("an empty value removes a policy", () => {
  const bench = createBench();
  const redrive = JSON.stringify({ deadLetterTargetArn: arn("q"), maxReceiveCount: 3 });
  const allow = JSON.stringify({ redrivePermission: "denyAll" });
  bench.set("q", { Policy: "{}", RedrivePolicy: redrive, RedriveAllowPolicy: allow });
  expect(Object.keys(bench.attributes("q"))).toEqual(
    expect.arrayContaining(["Policy", "RedrivePolicy", "RedriveAllowPolicy"]),
  );
  bench.set("q", { Policy: "", RedrivePolicy: "", RedriveAllowPolicy: "" });
  const names = Object.keys(bench.attributes("q"));
  expect(names.filter((name) => name.endsWith("Policy"))).toEqual([]);
  expect(bench.queue("q").settings.redrive).toBe(null);
});

test("a policy must be a JSON object", () => {
  for (const Policy of ["x", "[]", "null", "1", '"{}"']) {
    expect(refusal(createBench(), "q", { Policy }).name).toBe("InvalidAttributeValue");
  }
});

test.each(["\u0001", "\ufffe", "\ud800"])(
  "no value holds %j, which XML cannot carry (A4)",
  (odd) => {
    for (const given of [{ KmsMasterKeyId: `key${odd}` }, { Policy: `{"Id":"${odd}"}` }]) {
      expect(refusal(createBench(), "q", given).name).toBe("InvalidAttributeValue");
    }
  },
);

test("a redrive policy with such a character is refused as invalid JSON first", () => {
  const broken = refusal(createBench(), "q", { RedrivePolicy: "{\u0001}" });
  expect(broken.name).toBe("InvalidParameterValue");
});

test("a policy has at most 8,192 bytes, however many characters they are", () => {
  const policy = (length: number) => `{"Id":"${"é".repeat((length - 9) / 2)}"}`;
  const bench = createBench();
  bench.set("q", { Policy: policy(8_191) });
  expect(bench.attributes("q").Policy).toBe(policy(8_191));
  expect(refusal(bench, "q", { Policy: policy(8_193) }).name).toBe("InvalidAttributeValue");
  expect(bench.attributes("q").Policy).toBe(policy(8_191));
});

test("a queue has one kind of encryption at a time", () => {
  const bench = createBench();
  const both = { KmsMasterKeyId: "key", SqsManagedSseEnabled: "true" };
  expect(refusal(bench, "q", both).name).toBe("InvalidAttributeName");
  bench.set("q", { KmsMasterKeyId: "key", KmsDataKeyReusePeriodSeconds: "60" });
  expect(bench.attributes("q")).toMatchObject({
    KmsMasterKeyId: "key",
    KmsDataKeyReusePeriodSeconds: "60",
    SqsManagedSseEnabled: "false",
  });
  bench.set("q", { KmsMasterKeyId: "" });
  const after = bench.attributes("q");
  expect(Object.keys(after).filter((name) => name.startsWith("Kms"))).toEqual([]);
  expect(after.SqsManagedSseEnabled).toBe("false");
});

test("a limit per message group needs deduplication per message group", () => {
  const bench = createBench();
  const limit = { FifoThroughputLimit: "perMessageGroupId" };
  expect(refusal(bench, "q.fifo", limit).name).toBe("InvalidAttributeValue");
  bench.set("q.fifo", { ...limit, DeduplicationScope: "messageGroup" });
  const back = refusal(bench, "q.fifo", { DeduplicationScope: "queue" });
  expect(back.name).toBe("InvalidAttributeValue");
});

function redriveTo(target: string) {
  return { RedrivePolicy: JSON.stringify({ deadLetterTargetArn: target, maxReceiveCount: "42" }) };
}

test("a redrive policy names a queue that exists, is of its type and accepts its dead letters", () => {
  const bench = createBench();
  bench.create("dead");
  const elsewhere = arn("dead").replace("eu-north-1", "us-east-1");
  for (const target of [arn("none"), arn("q.fifo"), elsewhere, "dead", ""]) {
    expect(refusal(bench, "q", redriveTo(target)).name).toBe("InvalidParameterValue");
  }
  bench.set("dead", { RedriveAllowPolicy: JSON.stringify({ redrivePermission: "denyAll" }) });
  expect(refusal(bench, "q", redriveTo(arn("dead"))).name).toBe("InvalidParameterValue");
  const byQueue = { redrivePermission: "byQueue", sourceQueueArns: [arn("q")] };
  bench.set("dead", { RedriveAllowPolicy: JSON.stringify(byQueue) });
  bench.set("q", redriveTo(arn("dead")));
  expect(bench.attributes("q").RedrivePolicy).toBe(
    `{"deadLetterTargetArn":"${arn("dead")}","maxReceiveCount":42}`,
  );
});

test("a queue may be its own dead-letter queue, from its creation on", () => {
  const bench = createBench();
  bench.create("self", redriveTo(arn("self")));
  expect(bench.queue("self").settings.redrive?.targetArn).toBe(arn("self"));
});
