import { describe, expect, test } from "vitest";
import { type Options, useAwsCli } from "../support/aws-cli.ts";
import { ACCOUNT, arnOf, useEndpoint } from "../support/endpoint.ts";
import { requireFullSize } from "../support/full-size.ts";

const endpoint = useEndpoint();
const { call, refusal: refused } = useAwsCli(endpoint);
const aws = (action: string, options: Options) => call("sqs", action, options);
const refusal = (action: string, options: Options) => refused("sqs", action, options);

test("[14] a queue is created with attributes and tags, and returns them", async () => {
  const name = endpoint.freshName();
  const attributes = { DelaySeconds: "1", VisibilityTimeout: "60" };
  const tags = { team: "ingest", empty: "" };
  const created = await aws("create-queue", { "queue-name": name, attributes, tags });
  expect(created).toEqual({ QueueUrl: `${endpoint.url}/${ACCOUNT}/${name}` });
  const queue = { "queue-url": created.QueueUrl };
  const shown = await aws("get-queue-attributes", { ...queue, "attribute-names": "All" });
  expect(shown.Attributes).toMatchObject(attributes);
  expect(await aws("list-queue-tags", queue)).toEqual({ Tags: tags });
});

test("[7] a refusal has the legacy code and the message", async () => {
  expect(await refusal("get-queue-url", { "queue-name": "nowhere" })).toBe(
    "An error occurred (AWS.SimpleQueueService.NonExistentQueue) when calling the GetQueueUrl " +
      "operation: The specified queue does not exist for this wsdl version.",
  );
  const name = (await endpoint.queue()).split("/").at(-1)!;
  const attributes = { DelaySeconds: "9" };
  expect(await refusal("create-queue", { "queue-name": name, attributes })).toContain(
    "(QueueAlreadyExists)",
  );
});

test("[19] a message is received with its attributes and checksums", async () => {
  const url = await endpoint.queue();
  const queue = { "queue-url": url };
  const attributes = {
    blob: { DataType: "Binary", BinaryValue: "AQID" },
    color: { DataType: "String", StringValue: "blue" },
    count: { DataType: "Number", StringValue: "3" },
  };
  const sent = await aws("send-message", {
    ...queue,
    "message-body": "hello",
    "message-attributes": attributes,
  });
  expect(sent).toEqual({
    MD5OfMessageBody: "5d41402abc4b2a76b9719d911017c592",
    MD5OfMessageAttributes: "d838729972a4b70e2d2acd9d59ac847c",
    MessageId: expect.any(String),
  });
  const { Messages } = await aws("receive-message", {
    ...queue,
    "wait-time-seconds": "20",
    "attribute-names": "All",
    "message-attribute-names": "All",
  });
  expect(Messages).toMatchObject([
    { MessageId: sent.MessageId, Body: "hello", MessageAttributes: attributes },
  ]);
  expect(Messages[0].Attributes).toMatchObject({ ApproximateReceiveCount: "1" });
  const handle = { "receipt-handle": Messages[0].ReceiptHandle };
  expect(
    await aws("change-message-visibility", { ...queue, ...handle, "visibility-timeout": "90" }),
  ).toBeNull();
  expect(await aws("delete-message", { ...queue, ...handle })).toBeNull();
  expect(await endpoint.attribute(url, "ApproximateNumberOfMessagesNotVisible")).toBe("0");
});

describe("further actions", () => {
  requireFullSize();

  test("[15] text is preserved: carriage returns, markup, other scripts", async () => {
    const queue = { "queue-url": await endpoint.queue() };
    const body = "a\rb\r\nc\n\td <&>\"' äöü 日本 🌊";
    await aws("send-message", { ...queue, "message-body": body });
    expect((await aws("receive-message", queue)).Messages).toMatchObject([{ Body: body }]);
    expect(await aws("receive-message", queue)).toBeNull();
  });

  test("[48] a batch reports the result of each entry", async () => {
    const queue = { "queue-url": await endpoint.queue({ MaximumMessageSize: "1024" }) };
    const entries = [
      { Id: "good", MessageBody: "x" },
      { Id: "long", MessageBody: "x".repeat(1_025) },
    ];
    const sent = await aws("send-message-batch", { ...queue, entries });
    expect(sent).toMatchObject({
      Successful: [{ Id: "good" }],
      Failed: [{ Id: "long", SenderFault: true, Code: "InvalidParameterValue" }],
    });
  });

  test("[68][73] FIFO: order within a group, and a duplicate is accepted once", async () => {
    const attributes = { FifoQueue: "true", ContentBasedDeduplication: "true" };
    const name = `${endpoint.freshName()}.fifo`;
    const { QueueUrl } = await aws("create-queue", { "queue-name": name, attributes });
    const entries = ["one", "two", "one", "three"].map((MessageBody, i) => ({
      Id: `${i}`,
      MessageBody,
      MessageGroupId: "g",
    }));
    const { Successful } = await aws("send-message-batch", { "queue-url": QueueUrl, entries });
    expect(Successful[2].MessageId).toBe(Successful[0].MessageId);
    expect(Successful[3].SequenceNumber).toMatch(/^\d{20}$/);
    const received = await aws("receive-message", {
      "queue-url": QueueUrl,
      "max-number-of-messages": "10",
    });
    const bodies = received.Messages.map(({ Body }: { Body: string }) => Body);
    expect(bodies).toEqual(["one", "two", "three"]);
  });

  test("[80] a message moves to the dead-letter queue on the receive that exceeds the count", async () => {
    const [source, target] = [await endpoint.queue(), await endpoint.queue()];
    const RedrivePolicy = JSON.stringify({
      deadLetterTargetArn: arnOf(target),
      maxReceiveCount: 1,
    });
    await aws("set-queue-attributes", { "queue-url": source, attributes: { RedrivePolicy } });
    const sources = await aws("list-dead-letter-source-queues", { "queue-url": target });
    expect(sources).toEqual({ queueUrls: [source] });
    await endpoint.sqs.sendMessage({ QueueUrl: source, MessageBody: "x" });
    const receive = { QueueUrl: source, VisibilityTimeout: 0 };
    await endpoint.sqs.receiveMessage(receive);
    await endpoint.sqs.receiveMessage(receive);
    const dead = await aws("receive-message", { "queue-url": target, "attribute-names": "All" });
    expect(dead.Messages[0].Attributes).toMatchObject({
      ApproximateReceiveCount: "2",
      DeadLetterQueueSourceArn: arnOf(source),
    });
  });

  test("[37][65] permissions are added, and a queue is purged once a minute", async () => {
    const url = await endpoint.queue();
    const queue = { "queue-url": url };
    const permission = { label: "l", "aws-account-ids": "111122223333", actions: "SendMessage" };
    await aws("add-permission", { ...queue, ...permission });
    expect(await endpoint.attribute(url, "Policy")).toContain("arn:aws:iam::111122223333:root");
    await aws("purge-queue", queue);
    expect(await refusal("purge-queue", queue)).toContain("PurgeQueueInProgress");
  });

  test("queues are listed in pages, and deleted", async () => {
    const prefix = `paged-${endpoint.freshName()}`;
    for (const letter of ["a", "b", "c"]) {
      await endpoint.sqs.createQueue({ QueueName: `${prefix}-${letter}` });
    }
    const listed = await aws("list-queues", { "queue-name-prefix": prefix, "page-size": "2" });
    expect(listed.QueueUrls).toHaveLength(3);
    expect(await aws("delete-queue", { "queue-url": listed.QueueUrls[0] })).toBeNull();
    expect(await aws("list-queues", { "queue-name-prefix": `${prefix}-a` })).toBeNull();
  });
});
