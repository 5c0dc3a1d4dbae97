import { describe, expect, test } from "vitest";
import {
  ACCOUNT,
  createWire,
  MESSAGE_ID,
  REQUEST_ID,
} from "../../../../test/support/scripted-broker.ts";
import { succeed } from "../../../core/result.ts";
import { SQS_ACTIONS } from "../sqs/sqs-actions.ts";

const SERIALIZATION = "com.amazon.coral.service#SerializationException";

describe("a request in the JSON protocol", () => {
  test("gets only a request id and AWS's content type as headers", async () => {
    const reply = await createWire().json("SendMessage", { QueueUrl: "q", MessageBody: "hello" });
    expect(reply.status).toBe(200);
    expect(reply.headers).toEqual({
      "x-amzn-requestid": REQUEST_ID,
      "content-type": "application/x-amz-json-1.0",
    });
    expect(reply.value).toEqual({
      MD5OfMessageBody: "5d41402abc4b2a76b9719d911017c592",
      MessageId: MESSAGE_ID,
    });
  });

  test("may be sent to the URL of a queue", async () => {
    const wire = createWire();
    const reply = await wire.send({
      method: "POST",
      path: `/${ACCOUNT}/q`,
      headers: { "x-amz-target": "AmazonSQS.PurgeQueue" },
      body: Buffer.from('{"QueueUrl":"http://x/000000000000/other"}'),
    });
    expect(reply.status).toBe(200);
    expect(wire.asked).toEqual([{ name: "purgeQueue", input: { queue: "other" } }]);
  });

  test("treats null as absent and ignores unknown fields", async () => {
    const wire = createWire();
    await wire.json("ReceiveMessage", { QueueUrl: "q", MaxNumberOfMessages: null, Foo: [1] });
    expect(wire.asked[0]?.input).toEqual({
      queue: "q",
      max: 1,
      waitMs: null,
      visibilityMs: null,
      attemptId: null,
    });
  });

  test("with an unknown action is an unknown operation", async () => {
    const reply = await createWire().json("Bogus", {});
    expect(reply.status).toBe(400);
    expect(reply.value.__type).toBe("com.amazon.coral.service#UnknownOperationException");
    expect(reply.headers["x-amzn-query-error"]).toBe("InvalidAction;Sender");
  });

  test.each(["Application/X-Amz-JSON-1.0", "APPLICATION/JSON; charset=utf-8"])(
    "may write its content type as %s",
    async (type) => {
      const reply = await createWire().json("ListQueues", {}, { "content-type": type });
      expect(reply.status).toBe(200);
    },
  );

  test("with a content type other than JSON does not belong to this protocol", async () => {
    const reply = await createWire().json("ListQueues", {}, { "content-type": "text/plain" });
    expect(reply.status).toBe(404);
    expect(reply.text).toContain("<UnknownOperationException/>");
  });

  test("with an oversized body is refused", async () => {
    const reply = await createWire().send({
      method: "POST",
      headers: { "x-amz-target": "AmazonSQS.SendMessage" },
      bodyTooLarge: true,
    });
    expect(reply.status).toBe(413);
    expect(reply.value.__type).toBe("com.amazon.coral.service#RequestEntityTooLargeException");
  });
});

describe("a response", () => {
  const silent = SQS_ACTIONS.filter((action) => action.output === null).map(({ name }) => name);

  test("has an empty body for actions without output", async () => {
    expect(silent.sort()).toEqual([
      "AddPermission",
      "ChangeMessageVisibility",
      "DeleteMessage",
      "DeleteQueue",
      "PurgeQueue",
      "RemovePermission",
      "SetQueueAttributes",
      "TagQueue",
      "UntagQueue",
    ]);
    const input = {
      QueueUrl: "q",
      ReceiptHandle: "h",
      VisibilityTimeout: 0,
      Label: "l",
      AWSAccountIds: ["111111111111"],
      Actions: ["SendMessage"],
      Attributes: {},
      Tags: { a: "" },
      TagKeys: ["a"],
    };
    for (const name of silent) {
      const reply = await createWire().json(name, input);
      expect([name, reply.status, reply.text]).toEqual([name, 200, ""]);
      expect(reply.headers["content-type"]).toBe("application/x-amz-json-1.0");
    }
  });

  test.each([
    "ReceiveMessage",
    "ListQueueTags",
    "ListDeadLetterSourceQueues",
    "ListQueues",
    "GetQueueAttributes",
    "ListMessageMoveTasks",
  ])("is {} if %s has empty output", async (name) => {
    const reply = await createWire().json(name, { QueueUrl: "q", SourceArn: "arn" });
    expect(reply.text).toBe("{}");
  });

  test("has a sequence number and attribute checksums if the message has them", async () => {
    const wire = createWire({
      send: () =>
        succeed({ results: [succeed({ messageId: "id", sequenceNumber: "1".repeat(20) })] }),
    });
    const trace = "Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Sampled=1";
    const reply = await wire.json("SendMessage", {
      QueueUrl: "q",
      MessageBody: "hello",
      MessageAttributes: { color: { DataType: "String", StringValue: "blue" } },
      MessageSystemAttributes: { AWSTraceHeader: { DataType: "String", StringValue: trace } },
    });
    expect(reply.value).toEqual({
      MessageId: "id",
      MD5OfMessageBody: "5d41402abc4b2a76b9719d911017c592",
      MD5OfMessageAttributes: "da1b33cc3cbfe8b1630921e78e6b9880",
      MD5OfMessageSystemAttributes: "5ae4d5d7636402d80f4eb6d213245a88",
      SequenceNumber: "1".repeat(20),
    });
  });
});

describe("malformed input", () => {
  test.each([
    ["invalid JSON", "{", "The request body is not JSON."],
    ["nothing", "", "The request body is not JSON."],
    ["a list", "[]", "Start of list found where not expected."],
    ["a string", '"x"', "STRING_VALUE can not be converted to a Structure"],
    ["null", "null", "NULL_VALUE can not be converted to a Structure"],
    ["a number for a string", '{"QueueUrl":1}', "NUMBER_VALUE can not be converted to a String"],
    [
      "a string for a number",
      '{"QueueUrl":"q","MaxNumberOfMessages":"1"}',
      "STRING_VALUE can not be converted to an Integer",
    ],
    [
      "a fraction for an integer",
      '{"QueueUrl":"q","MaxNumberOfMessages":1.5}',
      "NUMBER_VALUE can not be converted to an Integer",
    ],
    [
      "a boolean for a list",
      '{"QueueUrl":"q","AttributeNames":true}',
      "TRUE_VALUE can not be converted to a List",
    ],
    [
      "a map for a string",
      '{"QueueUrl":"q","AttributeNames":[{}]}',
      "Start of structure or map found where not expected.",
    ],
  ])("%s is refused and changes nothing", async (_, body, message) => {
    const wire = createWire();
    const reply = await wire.json("ReceiveMessage", body);
    expect(reply.status).toBe(400);
    expect(reply.headers["x-amzn-query-error"]).toBe("MalformedInput;Sender");
    expect(reply.value).toEqual({ __type: SERIALIZATION, message });
    expect(wire.asked).toEqual([]);
  });

  test("bytes that are not UTF-8 are refused, but the replacement character is accepted", async () => {
    const wire = createWire();
    const send = (body: Buffer) =>
      wire.send({ method: "POST", headers: { "x-amz-target": "AmazonSQS.SendMessage" }, body });
    const head = Buffer.from('{"QueueUrl":"q","MessageBody":"');
    const tail = Buffer.from('"}');
    expect((await send(Buffer.concat([head, Buffer.from([0xff]), tail]))).status).toBe(400);
    expect(wire.asked).toEqual([]);
    expect((await send(Buffer.concat([head, Buffer.from("\uFFFD"), tail]))).status).toBe(200);
  });

  test("a blob must be base64, also in a nested entry", async () => {
    const attribute = { DataType: "Binary", BinaryValue: "not base64!" };
    const reply = await createWire().json("SendMessageBatch", {
      QueueUrl: "q",
      Entries: [{ Id: "a", MessageBody: "b", MessageAttributes: { x: attribute } }],
    });
    expect(reply.value.__type).toBe(SERIALIZATION);
  });
});
