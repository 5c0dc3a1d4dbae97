import { describe, expect, test } from "vitest";
import { createWire, MESSAGE_ID } from "../../../../test/support/scripted-broker.ts";
import { SQS_BATCH_BYTES_MAX } from "../../../core/limits.ts";
import { succeed } from "../../../core/result.ts";
import { refuse } from "../../model/fault.ts";

const NO_ENTRY_ID =
  "A batch entry id can only contain alphanumeric characters, hyphens and underscores. " +
  "It can be at most 80 letters long.";
const MD5_OF_FINE = "fff25994ee3941b225ba898fd17d186f";

/** Each batch action with one valid entry. */
const BATCHES = [
  ["SendMessageBatch", { MessageBody: "fine" }],
  ["DeleteMessageBatch", { ReceiptHandle: "h" }],
  ["ChangeMessageVisibilityBatch", { ReceiptHandle: "h", VisibilityTimeout: 1 }],
] as const;

describe.each(BATCHES)("%s", (name, good) => {
  const entries = (ids: unknown[]) => ids.map((Id) => ({ Id, ...good }));

  test.each([
    [
      "empty",
      [],
      "EmptyBatchRequest",
      `There should be at least one ${name}RequestEntry in the request.`,
    ],
    [
      "absent",
      undefined,
      "EmptyBatchRequest",
      `There should be at least one ${name}RequestEntry in the request.`,
    ],
    [
      "too long",
      entries([..."abcdefghijk"]),
      "TooManyEntriesInBatchRequest",
      "Maximum number of entries per request are 10. You have sent 11.",
    ],
    ["with an invalid id", entries(["a:b"]), "InvalidBatchEntryId", NO_ENTRY_ID],
    ["with an empty id", entries([""]), "InvalidBatchEntryId", NO_ENTRY_ID],
    ["with an id that is too long", entries(["a".repeat(81)]), "InvalidBatchEntryId", NO_ENTRY_ID],
    ["with a duplicate id", entries(["a", "b", "a"]), "BatchEntryIdsNotDistinct", "Id a repeated."],
  ])("is refused as a whole: %s", async (_, Entries, shape, message) => {
    const wire = createWire();
    const reply = await wire.json(name, { QueueUrl: "q", Entries });
    expect(reply.status).toBe(400);
    expect(reply.headers["x-amzn-query-error"]).toBe(`AWS.SimpleQueueService.${shape};Sender`);
    expect(reply.value).toEqual({ __type: `com.amazonaws.sqs#${shape}`, message });
    expect(wire.asked).toEqual([]);
  });

  test("names the entry that lacks a field", async () => {
    const reply = await createWire().json(name, { QueueUrl: "q", Entries: [{ Id: "a" }] });
    const field = name === "SendMessageBatch" ? "MessageBody" : "ReceiptHandle";
    expect(reply.value.message).toBe(
      `The request must contain the parameter ${name}RequestEntry.1.${field}.`,
    );
  });

  test("omits the list of failures if there are none", async () => {
    const reply = await createWire().json(name, { QueueUrl: "q", Entries: entries(["a"]) });
    expect(Object.keys(reply.value)).toEqual(["Successful"]);
    expect(reply.value.Successful[0]).toMatchObject({ Id: "a" });
  });
});

describe("a batch of messages", () => {
  test("keeps the order of its entries, whether sent, refused by the wire or by the broker", async () => {
    const wire = createWire({
      send: ({ entries }) =>
        succeed({
          results: entries.map((entry, i) =>
            entry.body === "too long"
              ? refuse("InvalidParameterValue", "One or more parameters cannot be validated.")
              : succeed({ messageId: `id-${i}`, sequenceNumber: null }),
          ),
        }),
    });
    const reply = await wire.json("SendMessageBatch", {
      QueueUrl: "q",
      Entries: [
        { Id: "bad", MessageBody: "\u0001" },
        { Id: "first", MessageBody: "fine" },
        { Id: "long", MessageBody: "too long" },
        { Id: "attribute", MessageBody: "x", MessageAttributes: { "a b": {} } },
        { Id: "second", MessageBody: "fine" },
      ],
    });
    expect(reply.status).toBe(200);
    expect(reply.value.Successful).toEqual([
      { Id: "first", MD5OfMessageBody: MD5_OF_FINE, MessageId: "id-0" },
      { Id: "second", MD5OfMessageBody: MD5_OF_FINE, MessageId: "id-2" },
    ]);
    expect(reply.value.Failed).toMatchObject([
      { Id: "bad", SenderFault: true, Code: "InvalidMessageContents" },
      {
        Id: "long",
        SenderFault: true,
        Code: "InvalidParameterValue",
        Message: "One or more parameters cannot be validated.",
      },
      { Id: "attribute", SenderFault: true, Code: "InvalidParameterValue" },
    ]);
    expect(wire.asked[0]?.input).toMatchObject({
      batch: true,
      entries: [{ body: "fine" }, { body: "too long" }, { body: "fine" }],
    });
  });

  test("with only invalid entries still checks that the queue exists", async () => {
    const input = { QueueUrl: "q", Entries: [{ Id: "bad", MessageBody: "\u0001" }] };
    const wire = createWire();
    expect((await wire.json("SendMessageBatch", input)).value.Successful).toBeUndefined();
    expect(wire.asked).toEqual([{ name: "findQueue", input: { queue: "q" } }]);
    const absent = createWire({ findQueue: () => refuse("QueueDoesNotExist", "none") });
    expect((await absent.json("SendMessageBatch", input)).status).toBe(400);
  });

  test("may have 1 MiB in total, including attributes, and not a byte more", async () => {
    const half = "x".repeat(SQS_BATCH_BYTES_MAX / 2 - 8);
    const color = { abc: { DataType: "Number", StringValue: "12" } };
    const batch = (last: string) => ({
      QueueUrl: "q",
      Entries: [
        { Id: "a", MessageBody: `${half}${last}`, MessageAttributes: color },
        { Id: "b", MessageBody: `${half}12345` },
      ],
    });
    expect((await createWire().json("SendMessageBatch", batch(""))).status).toBe(200);
    const reply = await createWire().json("SendMessageBatch", batch("1"));
    expect(reply.value).toEqual({
      __type: "com.amazonaws.sqs#BatchRequestTooLong",
      message: "Batch requests cannot be longer than 1048576 bytes. You have sent 1048577 bytes.",
    });
  });

  test("is too long even if the oversized entry would be refused anyway", async () => {
    const wire = createWire();
    const Entries = [
      { Id: "a", MessageBody: "fine" },
      { Id: "bad", MessageBody: `\u0001${"x".repeat(SQS_BATCH_BYTES_MAX)}` },
    ];
    const reply = await wire.json("SendMessageBatch", { QueueUrl: "q", Entries });
    expect(reply.value.__type).toBe("com.amazonaws.sqs#BatchRequestTooLong");
    expect(wire.asked).toEqual([]);
  });

  test("is refused as a whole if the broker refuses it", async () => {
    const wire = createWire({ send: () => refuse("InvalidParameterValue", "no group") });
    const Entries = [{ Id: "a", MessageBody: "x" }];
    const reply = await wire.json("SendMessageBatch", { QueueUrl: "q.fifo", Entries });
    expect(reply.headers["x-amzn-query-error"]).toBe("InvalidParameterValue;Sender");
  });

  test("returns sequence numbers in the query protocol too", async () => {
    const wire = createWire({
      send: () => succeed({ results: [succeed({ messageId: MESSAGE_ID, sequenceNumber: "7" })] }),
    });
    const reply = await wire.form({
      Action: "SendMessageBatch",
      QueueUrl: "q",
      "SendMessageBatchRequestEntry.1.Id": "a",
      "SendMessageBatchRequestEntry.1.MessageBody": "fine",
    });
    expect(reply.text).toContain(
      "<SendMessageBatchResult><SendMessageBatchResultEntry><Id>a</Id>" +
        `<MD5OfMessageBody>${MD5_OF_FINE}</MD5OfMessageBody><MessageId>${MESSAGE_ID}</MessageId>` +
        "<SequenceNumber>7</SequenceNumber></SendMessageBatchResultEntry></SendMessageBatchResult>",
    );
  });
});

describe("a batch of handles", () => {
  test("reports each refused handle with a short code", async () => {
    const fault = { name: "ReceiptHandleIsInvalid", message: "garbage" } as const;
    const wire = createWire({ delete: () => succeed({ faults: [null, fault] }) });
    const reply = await wire.json("DeleteMessageBatch", {
      QueueUrl: "q",
      Entries: [
        { Id: "x", ReceiptHandle: "h" },
        { Id: "y", ReceiptHandle: "garbage" },
      ],
    });
    expect(reply.value).toEqual({
      Successful: [{ Id: "x" }],
      Failed: [{ Id: "y", SenderFault: true, Code: "ReceiptHandleIsInvalid", Message: "garbage" }],
    });
  });

  test("passes only the visibility changes in range to the broker", async () => {
    const fault = { name: "InvalidParameterValue", message: "there" } as const;
    const wire = createWire({ changeVisibility: () => succeed({ faults: [fault, null] }) });
    const timeouts: [string, number | undefined][] = [
      ["over", 43_201],
      ["there", 43_200],
      ["none", undefined],
      ["good", 0],
    ];
    const reply = await wire.json("ChangeMessageVisibilityBatch", {
      QueueUrl: "q",
      Entries: timeouts.map(([Id, VisibilityTimeout]) => ({
        Id,
        ReceiptHandle: Id,
        VisibilityTimeout,
      })),
    });
    expect(wire.asked[0]?.input).toEqual({
      queue: "q",
      entries: [
        { handle: "there", visibilityMs: 43_200_000 },
        { handle: "good", visibilityMs: 0 },
      ],
    });
    expect(reply.value.Successful).toEqual([{ Id: "good" }]);
    expect(
      reply.value.Failed.map(({ Id, Code }: { Id: string; Code: string }) => [Id, Code]),
    ).toEqual([
      ["over", "InvalidParameterValue"],
      ["there", "InvalidParameterValue"],
      ["none", "MissingParameter"],
    ]);
  });
});
