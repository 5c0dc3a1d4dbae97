import { expect, test } from "vitest";
import { failureOf, useEndpoint } from "../../support/endpoint.ts";

const endpoint = useEndpoint();

interface Entry {
  Id: string;
  MessageBody: string;
  MessageGroupId?: string;
  MessageDeduplicationId?: string;
}

const entries = (count: number, MessageBody = "x"): Entry[] =>
  Array.from({ length: count }, (_, i) => ({ Id: `id-${i}`, MessageBody }));

const send = (QueueUrl: string, Entries: Entry[]) =>
  endpoint.sqs.sendMessageBatch({ QueueUrl, Entries });

const remove = (QueueUrl: string, ids: string[]) =>
  endpoint.sqs.deleteMessageBatch({
    QueueUrl,
    Entries: ids.map((Id) => ({ Id, ReceiptHandle: "handle" })),
  });

const change = (QueueUrl: string, ids: string[]) =>
  endpoint.sqs.changeMessageVisibilityBatch({
    QueueUrl,
    Entries: ids.map((Id) => ({ Id, ReceiptHandle: "handle", VisibilityTimeout: 1 })),
  });

const count = (queueUrl: string) => endpoint.attribute(queueUrl, "ApproximateNumberOfMessages");

/** The three batch actions, each with entries with these ids. */
const batches = (queueUrl: string, ids: string[]) => [
  send(
    queueUrl,
    ids.map((Id) => ({ Id, MessageBody: "x" })),
  ),
  remove(queueUrl, ids),
  change(queueUrl, ids),
];

test.each<[string, string[], string, RegExp]>([
  ["that is empty", [], "EmptyBatchRequest", /at least one/],
  [
    "of more than ten entries",
    Array.from({ length: 20 }, (_, i) => `id-${i}`),
    "TooManyEntriesInBatchRequest",
    /^Maximum number of entries per request are 10\. You have sent 20\.$/,
  ],
  [
    "with invalid characters in an id",
    ["ok", "not:ok"],
    "InvalidBatchEntryId",
    /^A batch entry id can only contain alphanumeric characters, hyphens and underscores\. It can be at most 80 letters long\.$/,
  ],
  ["with an id that is too long", ["x".repeat(81)], "InvalidBatchEntryId", /at most 80 letters/],
  ["with a duplicate id", ["a", "b", "a"], "BatchEntryIdsNotDistinct", /a/],
])("[46] a batch %s is refused as a whole", async (_what, ids, shape, message) => {
  const queueUrl = await endpoint.queue();
  for (const call of batches(queueUrl, ids)) {
    const failure = await failureOf(call);
    expect(failure).toMatchObject({ shape, code: `AWS.SimpleQueueService.${shape}`, status: 400 });
    expect(failure.message).toMatch(message);
  }
  expect(await count(queueUrl)).toBe("0");
});

test("[46] ten entries and ids of 80 characters are accepted", async () => {
  const queueUrl = await endpoint.queue();
  const ids = Array.from({ length: 10 }, (_, i) => `${i}`.padEnd(80, "x"));
  const { Successful } = await send(
    queueUrl,
    ids.map((Id) => ({ Id, MessageBody: "x" })),
  );
  expect(Successful!.map(({ Id }) => Id)).toEqual(ids);
});

test("[46][50] a whole batch has its own limit, independent of the queue's", async () => {
  const message =
    "Batch requests cannot be longer than 1048576 bytes. You have sent 1048577 bytes.";
  const half = "x".repeat(524_288);
  for (const size of ["1048576", "1024"]) {
    const queueUrl = await endpoint.queue({ MaximumMessageSize: size });
    const tooLong = entries(2, half);
    tooLong[1]!.MessageBody += "x";
    const failure = await failureOf(send(queueUrl, tooLong));
    expect(failure).toMatchObject({ shape: "BatchRequestTooLong", message });
  }
  const { Successful } = await send(await endpoint.queue(), entries(2, half));
  expect(Successful).toHaveLength(2);
});

test("[47] a FIFO batch in which an entry lacks its deduplication id is refused as a whole", async () => {
  const queueUrl = await endpoint.fifo();
  const good = { MessageBody: "x", MessageGroupId: "g" };
  const failure = await failureOf(
    send(queueUrl, [
      { Id: "a", ...good, MessageDeduplicationId: "d" },
      { Id: "b", ...good },
    ]),
  );
  expect(failure).toMatchObject({ code: "InvalidParameterValue", status: 400 });
  expect(await count(queueUrl)).toBe("0");
});

test("[47] a FIFO batch in which an entry lacks its group is refused as a whole", async () => {
  const queueUrl = await endpoint.fifo({ ContentBasedDeduplication: "true" });
  const failure = await failureOf(
    send(queueUrl, [
      { Id: "a", MessageBody: "x", MessageGroupId: "g" },
      { Id: "b", MessageBody: "y" },
    ]),
  );
  expect(failure).toMatchObject({ code: "InvalidParameterValue", status: 400 });
  expect(failure.message).toBe("The request must contain the parameter MessageGroupId.");
  expect(await count(queueUrl)).toBe("0");
});

test("[48] a failure of one entry is reported for that entry, with a short code", async () => {
  const queueUrl = await endpoint.queue({ MaximumMessageSize: "1024" });
  const { Successful, Failed } = await send(queueUrl, [
    { Id: "good", MessageBody: "x" },
    { Id: "character", MessageBody: "\u0001" },
    { Id: "size", MessageBody: "x".repeat(1_025) },
    { Id: "type", MessageBody: "x", MessageDeduplicationId: "d" },
  ]);
  expect(Successful).toMatchObject([{ Id: "good", MD5OfMessageBody: expect.any(String) }]);
  expect(Failed).toMatchObject([
    { Id: "character", SenderFault: true, Code: "InvalidMessageContents" },
    {
      Id: "size",
      SenderFault: true,
      Code: "InvalidParameterValue",
      Message:
        "One or more parameters cannot be validated. Reason: Message must be shorter than 1024 bytes.",
    },
    { Id: "type", SenderFault: true, Code: "InvalidParameterValue" },
  ]);
  expect(await count(queueUrl)).toBe("1");
});

test("[48] an invalid handle fails only its own entry, in both batches of handles", async () => {
  const QueueUrl = await endpoint.queue();
  await endpoint.sqs.sendMessage({ QueueUrl, MessageBody: "x" });
  const { Messages } = await endpoint.sqs.receiveMessage({ QueueUrl });
  const handles = [
    { Id: "good", ReceiptHandle: Messages![0]!.ReceiptHandle! },
    { Id: "bad", ReceiptHandle: "garbage" },
  ];
  const failed = [{ Id: "bad", SenderFault: true, Code: "ReceiptHandleIsInvalid" }];
  const changed = await endpoint.sqs.changeMessageVisibilityBatch({
    QueueUrl,
    Entries: handles.map((handle) => ({ ...handle, VisibilityTimeout: 5 })),
  });
  expect(changed).toMatchObject({ Successful: [{ Id: "good" }], Failed: failed });
  const deleted = await endpoint.sqs.deleteMessageBatch({ QueueUrl, Entries: handles });
  expect(deleted).toMatchObject({ Successful: [{ Id: "good" }], Failed: failed });
  expect(await endpoint.attribute(QueueUrl, "ApproximateNumberOfMessagesNotVisible")).toBe("0");
});

test("[49] the response to a batch omits an empty list", async () => {
  const QueueUrl = await endpoint.queue();
  const keysOf = async (Entries: object[]) =>
    Object.keys(JSON.parse((await endpoint.json("SendMessageBatch", { QueueUrl, Entries })).body));
  expect(await keysOf([{ Id: "a", MessageBody: "x" }])).toEqual(["Successful"]);
  expect(await keysOf([{ Id: "a", MessageBody: "\u0001" }])).toEqual(["Failed"]);
});

test("[50] the queue's own limit applies to each entry", async () => {
  const queueUrl = await endpoint.queue({ MaximumMessageSize: "1024" });
  const { Successful, Failed } = await send(queueUrl, entries(10, "x".repeat(1_024)));
  expect([Successful!.length, Failed]).toEqual([10, undefined]);
});

test("a batch keeps the order of its entries in the queue and in the response", async () => {
  const QueueUrl = await endpoint.queue();
  const bodies = Array.from({ length: 10 }, (_, i) => `body ${i}`);
  const { Successful } = await send(
    QueueUrl,
    bodies.map((MessageBody, i) => ({ Id: `${i}`, MessageBody })),
  );
  expect(Successful!.map(({ Id }) => Id)).toEqual(bodies.map((_, i) => `${i}`));
  const { Messages } = await endpoint.sqs.receiveMessage({ QueueUrl, MaxNumberOfMessages: 10 });
  expect(Messages!.map(({ Body }) => Body)).toEqual(bodies);
  expect(Messages!.map(({ MessageId }) => MessageId)).toEqual(
    Successful!.map(({ MessageId }) => MessageId),
  );
});
