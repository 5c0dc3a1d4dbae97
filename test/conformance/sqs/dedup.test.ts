import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import { failureOf, useEndpoint } from "../../support/endpoint.ts";

const endpoint = useEndpoint();
const WINDOW_SECONDS = 300;

const send = (QueueUrl: string, body: string, id?: string, group = "g") =>
  endpoint.sqs.sendMessage({
    QueueUrl,
    MessageBody: body,
    MessageGroupId: group,
    ...(id !== undefined && { MessageDeduplicationId: id }),
  });

const count = (queueUrl: string) => endpoint.attribute(queueUrl, "ApproximateNumberOfMessages");

async function receiveAndDelete(QueueUrl: string): Promise<void> {
  const { Messages } = await endpoint.sqs.receiveMessage({ QueueUrl });
  const { ReceiptHandle } = Messages![0]!;
  await endpoint.sqs.deleteMessage({ QueueUrl, ReceiptHandle });
}

test("[68] a duplicate gets the response of the original and adds no message", async () => {
  const queueUrl = await endpoint.fifo();
  const original = await send(queueUrl, "one", "id");
  const duplicate = await send(queueUrl, "other words", "id");
  expect(duplicate.MessageId).toBe(original.MessageId);
  expect(duplicate.SequenceNumber).toBe(original.SequenceNumber);
  expect(await count(queueUrl)).toBe("1");
});

test("[68] the window is 5 minutes from the first message and is not extended by duplicates", async () => {
  const queueUrl = await endpoint.fifo();
  const original = await send(queueUrl, "x", "id");
  await endpoint.pass(WINDOW_SECONDS / 2);
  await send(queueUrl, "x", "id");
  await endpoint.pass(WINDOW_SECONDS / 2 - 0.001);
  expect((await send(queueUrl, "x", "id")).MessageId).toBe(original.MessageId);
  await endpoint.pass(0.001);
  expect((await send(queueUrl, "x", "id")).MessageId).not.toBe(original.MessageId);
  expect(await count(queueUrl)).toBe("2");
});

test("[68] the window continues after receiving and deleting", async () => {
  const queueUrl = await endpoint.fifo();
  const original = await send(queueUrl, "x", "id");
  await receiveAndDelete(queueUrl);
  expect((await send(queueUrl, "x", "id")).MessageId).toBe(original.MessageId);
  expect(await count(queueUrl)).toBe("0");
});

test("[68] duplicates within one batch get the response of the first", async () => {
  const QueueUrl = await endpoint.fifo();
  const entry = { MessageBody: "x", MessageGroupId: "g", MessageDeduplicationId: "id" };
  const Entries = [
    { Id: "a", ...entry },
    { Id: "b", ...entry },
  ];
  const { Successful } = await endpoint.sqs.sendMessageBatch({ QueueUrl, Entries });
  expect(new Set(Successful!.map(({ MessageId }) => MessageId)).size).toBe(1);
  expect(await count(QueueUrl)).toBe("1");
});

test("[69] an id applies to the whole queue, or to its group if the queue is created so", async () => {
  const whole = await endpoint.fifo();
  await send(whole, "x", "id", "g1");
  await send(whole, "x", "id", "g2");
  expect(await count(whole)).toBe("1");
  const perGroup = await endpoint.fifo({ DeduplicationScope: "messageGroup" });
  await send(perGroup, "x", "id", "g1");
  await send(perGroup, "x", "id", "g2");
  await send(perGroup, "x", "id", "g1");
  expect(await count(perGroup)).toBe("2");
});

test.each([
  ["queue", "messageGroup", "1"],
  ["messageGroup", "queue", "2"],
])("[69] a scope switched from %s to %s changes nothing", async (first, second, expected) => {
  const QueueUrl = await endpoint.fifo({ DeduplicationScope: first });
  await endpoint.sqs.setQueueAttributes({ QueueUrl, Attributes: { DeduplicationScope: second } });
  expect(await endpoint.attribute(QueueUrl, "DeduplicationScope")).toBe(second);
  await send(QueueUrl, "x", "id", "g1");
  await send(QueueUrl, "x", "id", "g2");
  expect(await count(QueueUrl)).toBe(expected);
});

test("[70] the content-based id is the SHA-256 of the body, in hex", async () => {
  const QueueUrl = await endpoint.fifo({ ContentBasedDeduplication: "true" });
  const hash = createHash("sha256").update("same").digest("hex");
  const original = await send(QueueUrl, "same");
  expect((await send(QueueUrl, "same")).MessageId).toBe(original.MessageId);
  expect((await send(QueueUrl, "other body", hash)).MessageId).toBe(original.MessageId);
  const { Messages } = await endpoint.sqs.receiveMessage({
    QueueUrl,
    MessageSystemAttributeNames: ["MessageDeduplicationId"],
  });
  expect(Messages![0]!.Attributes).toEqual({ MessageDeduplicationId: hash });
});

test("[70] an explicit id overrides the content-based one", async () => {
  const queueUrl = await endpoint.fifo({ ContentBasedDeduplication: "true" });
  await send(queueUrl, "same", "one");
  await send(queueUrl, "same", "two");
  await send(queueUrl, "same");
  expect(await count(queueUrl)).toBe("3");
});

test("[70] attributes are not part of the content-based id", async () => {
  const QueueUrl = await endpoint.fifo({ ContentBasedDeduplication: "true" });
  const message = { QueueUrl, MessageBody: "same", MessageGroupId: "g" };
  for (const StringValue of ["a", "b"]) {
    const MessageAttributes = { name: { DataType: "String", StringValue } };
    await endpoint.sqs.sendMessage({ ...message, MessageAttributes });
  }
  expect(await count(QueueUrl)).toBe("1");
});

test("[71] a throughput limit per group needs deduplication per group", async () => {
  const attributes = { FifoThroughputLimit: "perMessageGroupId" };
  const refused = await failureOf(endpoint.fifo(attributes));
  expect(refused.status).toBe(400);
  const both = await endpoint.fifo({ ...attributes, DeduplicationScope: "messageGroup" });
  expect(await endpoint.attribute(both, "FifoThroughputLimit")).toBe("perMessageGroupId");
});

test("[65] a purge deletes the deduplication ids", async () => {
  const QueueUrl = await endpoint.fifo();
  const original = await send(QueueUrl, "x", "id");
  await endpoint.sqs.purgeQueue({ QueueUrl });
  expect((await send(QueueUrl, "x", "id")).MessageId).not.toBe(original.MessageId);
  expect(await count(QueueUrl)).toBe("1");
});
