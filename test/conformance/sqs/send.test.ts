import type { MessageAttributeValue } from "@aws-sdk/client-sqs";
import { expect, test } from "vitest";
import { failureOf, useEndpoint } from "../../support/endpoint.ts";

const endpoint = useEndpoint();

type Attributes = Record<string, MessageAttributeValue>;

const text = (StringValue: string, DataType = "String") => ({ StringValue, DataType });

const send = async (MessageBody: string, more: object = {}) =>
  endpoint.sqs.sendMessage({ QueueUrl: await endpoint.queue(), MessageBody, ...more });

const sendWith = (MessageAttributes: Attributes) => send("x", { MessageAttributes });

test("[39] a message needs a non-empty body", async () => {
  const QueueUrl = await endpoint.queue();
  for (const body of [{}, { MessageBody: "" }]) {
    const { status, body: answer } = await endpoint.json("SendMessage", { QueueUrl, ...body });
    expect(status).toBe(400);
    expect(JSON.parse(answer).message).toBe("The request must contain the parameter MessageBody.");
  }
  expect((await failureOf(send(""))).code).toBe("MissingParameter");
});

test.each(["\u0000", "\u000b", "\u001f", "\ufffe", "\uffff"])(
  "[40] the character %j is refused in a body and in an attribute, with different errors",
  async (character) => {
    const inBody = await failureOf(send(`a${character}b`));
    expect(inBody.code).toBe("InvalidMessageContents");
    const inAttribute = await failureOf(sendWith({ name: text(`a${character}b`) }));
    expect(inAttribute.code).toBe("InvalidParameterValue");
  },
);

test("[40] every character that XML allows is preserved", async () => {
  const QueueUrl = await endpoint.queue();
  const body = "\t\n\r \u007f\u0085\ud7ff\ue000\ufffd\u{10000}\u{10ffff}<&>\"'\\";
  const MessageAttributes = { name: text(body) };
  await endpoint.sqs.sendMessage({ QueueUrl, MessageBody: body, MessageAttributes });
  const request = { QueueUrl, MessageAttributeNames: ["All"] };
  const { Messages } = await endpoint.sqs.receiveMessage(request);
  expect(Messages).toMatchObject([{ Body: body, MessageAttributes }]);
});

test("[41] a message's size is its body plus names, types and values of attributes", async () => {
  const over = await failureOf(send("x".repeat(1_048_577)));
  expect(over).toMatchObject({
    code: "InvalidParameterValue",
    message:
      "One or more parameters are invalid. Reason: Message must be shorter than 1048576 bytes.",
  });
  await send("x".repeat(1_048_576));
  const QueueUrl = await endpoint.queue({ MaximumMessageSize: "1024" });
  const MessageAttributes = { name: text("välue") }; // 4 + 6 + 6 bytes
  const sized = (bytes: number) =>
    endpoint.sqs.sendMessage({ QueueUrl, MessageBody: "x".repeat(bytes), MessageAttributes });
  await sized(1_008);
  expect((await failureOf(sized(1_009))).message).toContain("must be shorter than 1024 bytes.");
  const trace = "y".repeat(200);
  await endpoint.sqs.sendMessage({
    QueueUrl,
    MessageBody: "ü".repeat(512),
    MessageSystemAttributes: { AWSTraceHeader: text(trace) }, // Does not count towards the size.
  });
});

test("[42] a message has at most ten attributes", async () => {
  const attributes = (count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, i) => [`a${i}`, text("x")]));
  await sendWith(attributes(10));
  expect((await failureOf(sendWith(attributes(11)))).code).toBe("InvalidParameterValue");
});

test.each(["a", "A-z_0.9", "x".repeat(256), "awsome", "amazonia"])(
  "[42] an attribute may be named %s",
  async (name) => {
    const sent = await sendWith({ [name]: text("x") });
    expect(sent.MD5OfMessageAttributes).toMatch(/^[0-9a-f]{32}$/);
  },
);

test.each(["x".repeat(257), "a b", "a$", ".a", "a.", "a..b", "aws.x", "AWS.x", "Amazon.x"])(
  "[42] an attribute may not be named %s",
  async (name) => {
    const failure = await failureOf(sendWith({ [name]: text("x") }));
    expect(failure.code).toBe("InvalidParameterValue");
  },
);

test.each(["String", "Number", "Binary.png", "String.Array", "Number.int", "String.ü"])(
  "[42] %s is a valid attribute type",
  async (DataType) => {
    const value = DataType.startsWith("Binary")
      ? { DataType, BinaryValue: Uint8Array.of(0, 255) }
      : text("1", DataType);
    await sendWith({ name: value });
  },
);

test.each(["", "string", "Strings", "Boolean", `String.${"x".repeat(249)}`])(
  "[42] %j is not a valid attribute type",
  async (DataType) => {
    const failure = await failureOf(sendWith({ name: text("1", DataType) }));
    expect(failure.code).toBe("InvalidParameterValue");
  },
);

test("[42] an attribute needs a value, and lists of values are not supported", async () => {
  expect(await failureOf(sendWith({ X: text("") }))).toMatchObject({
    code: "InvalidParameterValue",
    message: "Message (user) attribute 'X' must contain a non-empty value of type 'String'.",
  });
  const empty = { DataType: "Binary", BinaryValue: new Uint8Array() };
  expect((await failureOf(sendWith({ X: empty }))).code).toBe("InvalidParameterValue");
  const lists = [
    { DataType: "String", StringListValues: ["a"] },
    { DataType: "Binary", BinaryListValues: [Uint8Array.of(1)] },
  ];
  for (const list of lists) {
    expect((await failureOf(sendWith({ X: list }))).shape).toBe("UnsupportedOperation");
  }
});

const TRACE = "Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Sampled=1";

test("[43] the trace header of a request becomes a system attribute, unless the message has its own", async () => {
  const QueueUrl = await endpoint.queue();
  const headers = { "x-amzn-trace-id": TRACE };
  await endpoint.json("SendMessage", { QueueUrl, MessageBody: "inherits" }, { headers });
  const own = { MessageSystemAttributes: { AWSTraceHeader: text("Root=own") } };
  await endpoint.json("SendMessage", { QueueUrl, MessageBody: "own", ...own }, { headers });
  const Entries = [{ Id: "a", MessageBody: "batch" }];
  await endpoint.json("SendMessageBatch", { QueueUrl, Entries }, { headers });
  const { Messages } = await endpoint.sqs.receiveMessage({
    QueueUrl,
    MaxNumberOfMessages: 10,
    MessageSystemAttributeNames: ["AWSTraceHeader"],
  });
  const received = Messages!.map(({ Body, Attributes }) => [Body, Attributes?.AWSTraceHeader]);
  expect(received).toEqual([
    ["inherits", TRACE],
    ["own", "Root=own"],
    ["batch", TRACE],
  ]);
});

test("[44] a standard queue refuses a deduplication id", async () => {
  const failure = await failureOf(send("x", { MessageDeduplicationId: "d" }));
  expect(failure).toMatchObject({ code: "InvalidParameterValue", status: 400 });
});

test("[44] a standard queue accepts a group id and returns it", async () => {
  const QueueUrl = await endpoint.queue();
  const MessageGroupId = `!"#$%&'()*+,-./:;<=>?@[\\]^_\`{|}~aZ9`.padEnd(128, "x");
  await endpoint.sqs.sendMessage({ QueueUrl, MessageBody: "x", MessageGroupId });
  const { Messages } = await endpoint.sqs.receiveMessage({
    QueueUrl,
    MessageSystemAttributeNames: ["All"],
  });
  expect(Messages![0]!.Attributes).toMatchObject({ MessageGroupId });
});

test.each(["", "a b", "ü", "x".repeat(129)])(
  "[44] %j is not a valid group id",
  async (MessageGroupId) => {
    expect(await failureOf(send("x", { MessageGroupId }))).toMatchObject({
      code: "InvalidParameterValue",
      message:
        `Value ${MessageGroupId} for parameter MessageGroupId is invalid. Reason: MessageGroupId ` +
        "can only include alphanumeric and punctuation characters. 1 to 128 in length.",
    });
  },
);

test("[45] only a FIFO queue returns a sequence number on send", async () => {
  expect((await send("x")).SequenceNumber).toBeUndefined();
  const QueueUrl = await endpoint.fifo();
  const ids = { MessageGroupId: "g", MessageDeduplicationId: "d" };
  const sent = await endpoint.sqs.sendMessage({ QueueUrl, MessageBody: "x", ...ids });
  expect(sent.SequenceNumber).toMatch(/^\d{20}$/);
});

test("a message may be delayed by 0 to 900 seconds, which overrides the queue's delay", async () => {
  const QueueUrl = await endpoint.queue({ DelaySeconds: "100" });
  const later = (MessageBody: string, DelaySeconds?: number) =>
    endpoint.sqs.sendMessage({
      QueueUrl,
      MessageBody,
      ...(DelaySeconds !== undefined && { DelaySeconds }),
    });
  await later("at once", 0);
  await later("by the queue");
  await later("late", 900);
  for (const seconds of [-1, 901]) {
    expect((await failureOf(later("x", seconds))).code).toBe("InvalidParameterValue");
  }
  const bodies = async () => {
    const { Messages } = await endpoint.sqs.receiveMessage({ QueueUrl, MaxNumberOfMessages: 10 });
    for (const { ReceiptHandle } of Messages ?? []) {
      await endpoint.sqs.deleteMessage({ QueueUrl, ReceiptHandle });
    }
    return (Messages ?? []).map(({ Body }) => Body);
  };
  expect(await bodies()).toEqual(["at once"]);
  expect(await endpoint.attribute(QueueUrl, "ApproximateNumberOfMessagesDelayed")).toBe("2");
  await endpoint.pass(100);
  expect(await bodies()).toEqual(["by the queue"]);
  await endpoint.pass(799.999);
  expect(await bodies()).toEqual([]);
  await endpoint.pass(0.001);
  expect(await bodies()).toEqual(["late"]);
});
