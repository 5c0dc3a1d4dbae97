import { describe, expect, test } from "vitest";
import { createWire, delivery } from "../../../../test/support/scripted-broker.ts";
import { succeed } from "../../../core/result.ts";
import { epochMs } from "../../../core/units.ts";
import type { ReceivedCopy } from "../../model/operations.ts";

const string = (value: string) => ({ type: "String", value });
const ATTRIBUTES = {
  Hello: string("There"),
  General: string("Kenobi"),
  "Help.Me": string("Me"),
};

async function receive(input: object, fields: Partial<ReceivedCopy> = {}, form = false) {
  const wire = createWire({ receive: () => succeed({ deliveries: [delivery(fields)] }) });
  if (form) return (await wire.form({ Action: "ReceiveMessage", QueueUrl: "q", ...input })).text;
  return (await wire.json("ReceiveMessage", { QueueUrl: "q", ...input })).value.Messages[0];
}

describe("message attributes", () => {
  test.each([
    ["none if none are requested", undefined, [], undefined],
    ["none for an empty list", [], [], undefined],
    ["all for All", ["All"], ["General", "Hello", "Help.Me"], "4c360f3fdafd970e05fae2f149d997f5"],
    ["all for .*", [".*"], ["General", "Hello", "Help.Me"], "4c360f3fdafd970e05fae2f149d997f5"],
    ["all for *", ["*"], ["General", "Hello", "Help.Me"], "4c360f3fdafd970e05fae2f149d997f5"],
    [
      "those requested",
      ["General", "Hello"],
      ["General", "Hello"],
      "fca026605781cb4126a1e9044df24232",
    ],
    ["those requested that exist", ["Hello", "Foo"], ["Hello"], "a311262e065454b75da111d535b8dacd"],
    ["those with a prefix", ["Hel.*"], ["Hello", "Help.Me"], "83fee93c1bcd8b9a5a923ffacdc636c7"],
    ["none for unknown names", ["Foo", "Bar"], [], undefined],
    ["none for invalid names", ["", "AWS.x", "a!b"], [], undefined],
  ])("that are returned: %s", async (_, MessageAttributeNames, names, digest) => {
    const message = await receive({ MessageAttributeNames }, { attributes: ATTRIBUTES });
    expect(Object.keys(message.MessageAttributes ?? {}).sort()).toEqual(names);
    expect(message.MD5OfMessageAttributes).toBe(digest);
    expect("MessageAttributes" in message).toBe(names.length > 0);
  });

  test("have text or bytes in AWS's fields", async () => {
    const attributes = {
      blob: { type: "Binary.gif", value: "AQID" },
      count: { type: "Number", value: "3" },
    };
    const message = await receive({ MessageAttributeNames: ["All"] }, { attributes });
    expect(message.MessageAttributes).toEqual({
      blob: { DataType: "Binary.gif", BinaryValue: "AQID" },
      count: { DataType: "Number", StringValue: "3" },
    });
  });
});

describe("system attributes", () => {
  const plain = {
    ApproximateFirstReceiveTimestamp: "2000",
    ApproximateReceiveCount: "1",
    SenderId: expect.stringMatching(/^AIDA[A-Z2-7]{17}$/),
    SentTimestamp: "1000",
  };

  test("are absent unless requested", async () => {
    expect(await receive({})).toEqual({
      MessageId: expect.any(String),
      ReceiptHandle: "handle",
      MD5OfBody: "5d41402abc4b2a76b9719d911017c592",
      Body: "hello",
    });
  });

  test("are the values of the message, as strings", async () => {
    expect((await receive({ AttributeNames: ["All"] })).Attributes).toEqual(plain);
    const all = await receive(
      { AttributeNames: ["All"] },
      {
        groupId: "g",
        dedupId: "d",
        sequenceNumber: "9".repeat(20),
        traceHeader: "Root=1",
        sourceArn: "arn:aws:sqs:us-east-1:000000000000:source",
        sentAt: epochMs(1_700_000_000_123),
        receiveCount: 12,
      },
    );
    expect(all.Attributes).toEqual({
      ...plain,
      SentTimestamp: "1700000000123",
      ApproximateReceiveCount: "12",
      MessageGroupId: "g",
      MessageDeduplicationId: "d",
      SequenceNumber: "9".repeat(20),
      AWSTraceHeader: "Root=1",
      DeadLetterQueueSourceArn: "arn:aws:sqs:us-east-1:000000000000:source",
    });
  });

  test("of two lists are merged in JSON; in the query protocol the older list wins", async () => {
    const both = await receive({
      AttributeNames: ["SentTimestamp"],
      MessageSystemAttributeNames: ["ApproximateReceiveCount"],
    });
    expect(both.Attributes).toEqual({ SentTimestamp: "1000", ApproximateReceiveCount: "1" });
    const older = { "AttributeName.1": "SentTimestamp" };
    const newer = { "MessageSystemAttributeName.1": "ApproximateReceiveCount" };
    const won = await receive({ ...older, ...newer }, {}, true);
    expect(won).toContain("SentTimestamp");
    expect(won).not.toContain("ApproximateReceiveCount");
    expect(await receive(newer, {}, true)).toContain("ApproximateReceiveCount");
  });

  test("that do not exist are refused, but names of queue attributes are not", async () => {
    const wire = createWire();
    const reply = await wire.json("ReceiveMessage", { QueueUrl: "q", AttributeNames: ["Foobar"] });
    expect(reply.value).toEqual({
      __type: "com.amazonaws.sqs#InvalidAttributeName",
      message: "Unknown Attribute Foobar.",
    });
    expect(wire.asked).toEqual([]);
    expect("Attributes" in (await receive({ AttributeNames: ["QueueArn"] }))).toBe(false);
  });
});

describe("a receive", () => {
  test("passes milliseconds to the broker", async () => {
    const wire = createWire();
    await wire.json("ReceiveMessage", {
      QueueUrl: "q",
      MaxNumberOfMessages: 10,
      WaitTimeSeconds: 20,
      VisibilityTimeout: 0,
      ReceiveRequestAttemptId: "again",
    });
    expect(wire.asked[0]?.input).toEqual({
      queue: "q",
      max: 10,
      waitMs: 20_000,
      visibilityMs: 0,
      attemptId: "again",
    });
  });

  test.each([
    ["MaxNumberOfMessages", 11, "Must be between 1 and 10, if provided."],
    ["MaxNumberOfMessages", 0, "Must be between 1 and 10, if provided."],
    ["WaitTimeSeconds", 21, "Must be >= 0 and <= 20, if provided."],
    ["WaitTimeSeconds", -1, "Must be >= 0 and <= 20, if provided."],
    ["VisibilityTimeout", 43_201, "Must be >= 0 and <= 43200, if provided."],
  ])("with %s %d is refused", async (name, value, reason) => {
    const wire = createWire();
    const reply = await wire.json("ReceiveMessage", { QueueUrl: "q", [name]: value });
    expect(reply.headers["x-amzn-query-error"]).toBe("InvalidParameterValue;Sender");
    expect(reply.value.message).toBe(
      `Value ${value} for parameter ${name} is invalid. Reason: ${reason}`,
    );
    expect(wire.asked).toEqual([]);
  });
});
