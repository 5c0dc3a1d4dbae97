import { QueueDoesNotExist, ReceiptHandleIsInvalid } from "@aws-sdk/client-sqs";
import { expect, test } from "vitest";
import { ACCOUNT, arnOf, failureOf, useEndpoint } from "../../support/endpoint.ts";

const endpoint = useEndpoint();

const SQS = "com.amazonaws.sqs#";
const CORAL = "com.amazon.coral.service#";
const LEGACY = "AWS.SimpleQueueService.";

/** Type, legacy code and status of a JSON fault. */
async function errorOf(action: string, input: object | string) {
  const { status, headers, body } = await endpoint.json(action, input);
  const { __type: type } = JSON.parse(body);
  return { type, queryError: headers.get("x-amzn-query-error"), status };
}

test("[5] a JSON fault has a namespaced type, a message, and its legacy code in a header", async () => {
  const { status, headers, body } = await endpoint.json("GetQueueUrl", { QueueName: "nowhere" });
  expect(status).toBe(400);
  expect(headers.get("x-amzn-query-error")).toBe(`${LEGACY}NonExistentQueue;Sender`);
  expect(JSON.parse(body)).toEqual({
    __type: `${SQS}QueueDoesNotExist`,
    message: "The specified queue does not exist.",
  });
});

test.each<[string, string, object | string, string, string, number]>([
  [
    "a missing queue",
    "GetQueueUrl",
    { QueueName: "nowhere" },
    `${SQS}QueueDoesNotExist`,
    `${LEGACY}NonExistentQueue`,
    400,
  ],
  [
    "an invalid parameter",
    "CreateQueue",
    { QueueName: "a b" },
    `${CORAL}InvalidParameterValueException`,
    "InvalidParameterValue",
    400,
  ],
  [
    "a missing parameter",
    "CreateQueue",
    {},
    `${CORAL}MissingRequiredParameterException`,
    "MissingParameter",
    400,
  ],
  ["an unknown action", "FooBar", {}, `${CORAL}UnknownOperationException`, "InvalidAction", 400],
  ["malformed JSON", "ListQueues", "{", `${CORAL}SerializationException`, "MalformedInput", 400],
  [
    "a body that is not an object",
    "ListQueues",
    "[]",
    `${CORAL}SerializationException`,
    "MalformedInput",
    400,
  ],
  [
    "a value of the wrong type",
    "ListQueues",
    { MaxResults: "x" },
    `${CORAL}SerializationException`,
    "MalformedInput",
    400,
  ],
  [
    "an unknown attribute",
    "CreateQueue",
    { QueueName: "a", Attributes: { Foo: "1" } },
    `${SQS}InvalidAttributeName`,
    "InvalidAttributeName",
    400,
  ],
  [
    "an invalid attribute",
    "CreateQueue",
    { QueueName: "a", Attributes: { DelaySeconds: "x" } },
    `${SQS}InvalidAttributeValue`,
    "InvalidAttributeValue",
    400,
  ],
  [
    "a missing source",
    "StartMessageMoveTask",
    { SourceArn: `arn:aws:sqs:us-east-1:${ACCOUNT}:no` },
    `${SQS}ResourceNotFoundException`,
    "ResourceNotFoundException",
    404,
  ],
])("[6] %s has its type, code and status", async (_what, action, input, type, code, status) => {
  expect(await errorOf(action, input)).toEqual({ type, queryError: `${code};Sender`, status });
});

test.each<[string, object, string, string, number]>([
  [
    "SendMessage",
    { MessageBody: "\u0001" },
    "InvalidMessageContents",
    "InvalidMessageContents",
    400,
  ],
  [
    "DeleteMessage",
    { ReceiptHandle: "garbage" },
    "ReceiptHandleIsInvalid",
    "ReceiptHandleIsInvalid",
    404,
  ],
  ["SendMessageBatch", { Entries: [] }, "EmptyBatchRequest", `${LEGACY}EmptyBatchRequest`, 400],
  [
    "DeleteMessageBatch",
    { Entries: Array.from({ length: 11 }, (_, i) => ({ Id: `${i}`, ReceiptHandle: "x" })) },
    "TooManyEntriesInBatchRequest",
    `${LEGACY}TooManyEntriesInBatchRequest`,
    400,
  ],
  [
    "DeleteMessageBatch",
    { Entries: [1, 2].map(() => ({ Id: "a", ReceiptHandle: "x" })) },
    "BatchEntryIdsNotDistinct",
    `${LEGACY}BatchEntryIdsNotDistinct`,
    400,
  ],
  [
    "DeleteMessageBatch",
    { Entries: [{ Id: "a b", ReceiptHandle: "x" }] },
    "InvalidBatchEntryId",
    `${LEGACY}InvalidBatchEntryId`,
    400,
  ],
  [
    "SendMessageBatch",
    { Entries: [1, 2].map((n) => ({ Id: `${n}`, MessageBody: "x".repeat(600_000) })) },
    "BatchRequestTooLong",
    `${LEGACY}BatchRequestTooLong`,
    400,
  ],
  [
    "SendMessage",
    { MessageBody: "x", MessageAttributes: { a: { DataType: "String", StringListValues: ["b"] } } },
    "UnsupportedOperation",
    `${LEGACY}UnsupportedOperation`,
    400,
  ],
  [
    "AddPermission",
    {
      Label: "l",
      AWSAccountIds: [ACCOUNT],
      Actions: Array.from({ length: 8 }, () => "SendMessage"),
    },
    "OverLimit",
    "OverLimit",
    403,
  ],
])(
  "[6] %s can be refused as $2, with its code and status",
  async (action, input, shape, code, status) => {
    const QueueUrl = await endpoint.queue();
    const error = await errorOf(action, { QueueUrl, ...input });
    expect(error).toEqual({ type: SQS + shape, queryError: `${code};Sender`, status });
  },
);

test("[6] operations repeated too soon have their own types: creating, deleting, purging", async () => {
  const QueueUrl = await endpoint.queue();
  const QueueName = QueueUrl.split("/").at(-1)!;
  const Attributes = { DelaySeconds: "9" };
  expect(await errorOf("CreateQueue", { QueueName, Attributes })).toEqual({
    type: `${SQS}QueueNameExists`,
    queryError: "QueueAlreadyExists;Sender",
    status: 400,
  });
  await endpoint.sqs.purgeQueue({ QueueUrl });
  expect(await errorOf("PurgeQueue", { QueueUrl })).toEqual({
    type: `${SQS}PurgeQueueInProgress`,
    queryError: `${LEGACY}PurgeQueueInProgress;Sender`,
    status: 403,
  });
  await endpoint.sqs.deleteQueue({ QueueUrl });
  expect(await errorOf("CreateQueue", { QueueName })).toEqual({
    type: `${SQS}QueueDeletedRecently`,
    queryError: `${LEGACY}QueueDeletedRecently;Sender`,
    status: 400,
  });
});

test("[7] the SDK throws its own exception classes with the legacy code", async () => {
  const missing = endpoint.sqs.getQueueUrl({ QueueName: "nowhere" });
  await expect(missing).rejects.toBeInstanceOf(QueueDoesNotExist);
  const QueueUrl = await endpoint.queue();
  const remove = endpoint.sqs.deleteMessage({ QueueUrl, ReceiptHandle: "garbage" });
  await expect(remove).rejects.toBeInstanceOf(ReceiptHandleIsInvalid);
  expect(await failureOf(missing)).toMatchObject({ code: `${LEGACY}NonExistentQueue` });
});

test("[9] a missing or empty QueueUrl means a queue that does not exist", async () => {
  for (const input of [{}, { QueueUrl: "" }]) {
    const error = await errorOf("SendMessage", { ...input, MessageBody: "x" });
    expect(error.type).toBe(`${SQS}QueueDoesNotExist`);
  }
  expect((await errorOf("GetQueueUrl", {})).queryError).toBe("InvalidParameterValue;Sender");
});

test("[10] a fault of the query protocol is XML with type, code, message and detail", async () => {
  const answer = await endpoint.query({ Action: "GetQueueUrl", QueueName: "nowhere" });
  const id = answer.headers.get("x-amzn-requestid");
  expect([answer.status, answer.headers.get("content-type")]).toEqual([400, "text/xml"]);
  expect(answer.body.replace(/^<\?xml[^>]*\?>\s*/, "")).toBe(
    '<ErrorResponse xmlns="http://queue.amazonaws.com/doc/2012-11-05/"><Error>' +
      `<Type>Sender</Type><Code>${LEGACY}NonExistentQueue</Code>` +
      "<Message>The specified queue does not exist for this wsdl version.</Message><Detail/>" +
      `</Error><RequestId>${id}</RequestId></ErrorResponse>`,
  );
});

test("[11] the two protocols have different messages for a missing queue", async () => {
  const xml = await endpoint.query({ Action: "GetQueueUrl", QueueName: "nowhere" });
  const json = await endpoint.json("GetQueueUrl", { QueueName: "nowhere" });
  expect(xml.body).toContain("The specified queue does not exist for this wsdl version.");
  expect(JSON.parse(json.body).message).toBe("The specified queue does not exist.");
});

test("a deleted queue does not exist for any action", async () => {
  const QueueUrl = await endpoint.queue();
  await endpoint.sqs.deleteQueue({ QueueUrl });
  const entries = [{ Id: "a", ReceiptHandle: "x" }];
  const calls: [string, object][] = [
    ["SendMessage", { MessageBody: "x" }],
    ["SendMessageBatch", { Entries: [{ Id: "a", MessageBody: "x" }] }],
    ["ReceiveMessage", {}],
    ["DeleteMessage", { ReceiptHandle: "x" }],
    ["DeleteMessageBatch", { Entries: entries }],
    ["ChangeMessageVisibility", { ReceiptHandle: "x", VisibilityTimeout: 1 }],
    ["ChangeMessageVisibilityBatch", { Entries: [{ ...entries[0], VisibilityTimeout: 1 }] }],
    ["GetQueueAttributes", { AttributeNames: ["All"] }],
    ["SetQueueAttributes", { Attributes: { DelaySeconds: "1" } }],
    ["PurgeQueue", {}],
    ["DeleteQueue", {}],
    ["TagQueue", { Tags: { a: "b" } }],
    ["UntagQueue", { TagKeys: ["a"] }],
    ["ListQueueTags", {}],
    ["ListDeadLetterSourceQueues", {}],
    ["AddPermission", { Label: "l", AWSAccountIds: [ACCOUNT], Actions: ["SendMessage"] }],
    ["RemovePermission", { Label: "l" }],
  ];
  for (const [action, input] of calls) {
    const { type } = await errorOf(action, { QueueUrl, ...input });
    expect([action, type]).toEqual([action, `${SQS}QueueDoesNotExist`]);
  }
  const task = await errorOf("StartMessageMoveTask", { SourceArn: arnOf(QueueUrl) });
  expect(task.type).toBe(`${SQS}ResourceNotFoundException`);
});
