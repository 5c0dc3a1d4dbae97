import { expect, test } from "vitest";
import { type Attributes, failureOf, useEndpoint } from "../../support/endpoint.ts";

const endpoint = useEndpoint();

/** A FIFO queue with messages "group:body", sent in this order. */
async function queueWith(messages: string[], attributes: Attributes = {}): Promise<string> {
  const queueUrl = await endpoint.fifo({ ContentBasedDeduplication: "true", ...attributes });
  for (const message of messages) await send(queueUrl, message);
  return queueUrl;
}

function send(QueueUrl: string, message: string) {
  const [MessageGroupId] = message.split(":");
  return endpoint.sqs.sendMessage({ QueueUrl, MessageBody: message, MessageGroupId });
}

/** Receives messages; returns their bodies, and their handles by body. */
async function take(QueueUrl: string, max = 10, more: object = {}) {
  const request = { QueueUrl, MaxNumberOfMessages: max, VisibilityTimeout: 10, ...more };
  const { Messages = [] } = await endpoint.sqs.receiveMessage(request);
  const handles = new Map(Messages.map(({ Body, ReceiptHandle }) => [Body, ReceiptHandle!]));
  const handle = (body: string) => handles.get(body)!;
  return { bodies: Messages.map(({ Body }) => Body!), handle, Messages };
}

const bodiesOf = async (queueUrl: string, max = 10) => (await take(queueUrl, max)).bodies;

const remove = (QueueUrl: string, ReceiptHandle: string) =>
  endpoint.sqs.deleteMessage({ QueueUrl, ReceiptHandle });

const change = (QueueUrl: string, ReceiptHandle: string, VisibilityTimeout: number) =>
  endpoint.sqs.changeMessageVisibility({ QueueUrl, ReceiptHandle, VisibilityTimeout });

test("[66] a FIFO message needs a group", async () => {
  const QueueUrl = await endpoint.fifo({ ContentBasedDeduplication: "true" });
  expect(await failureOf(endpoint.sqs.sendMessage({ QueueUrl, MessageBody: "x" }))).toMatchObject({
    code: "MissingParameter",
    message: "The request must contain the parameter MessageGroupId.",
  });
});

test("[66] a FIFO message needs an id, or a queue with content-based deduplication", async () => {
  const QueueUrl = await endpoint.fifo();
  const bare = { QueueUrl, MessageBody: "x", MessageGroupId: "g" };
  expect(await failureOf(endpoint.sqs.sendMessage(bare))).toMatchObject({
    code: "InvalidParameterValue",
    message:
      "The queue should either have ContentBasedDeduplication enabled or MessageDeduplicationId provided explicitly",
  });
});

test("[67] a FIFO message cannot have its own delay, only zero; the queue's delay applies", async () => {
  const QueueUrl = await endpoint.fifo({ ContentBasedDeduplication: "true", DelaySeconds: "5" });
  const message = { QueueUrl, MessageBody: "x", MessageGroupId: "g" };
  const delayed = endpoint.sqs.sendMessage({ ...message, DelaySeconds: 2 });
  expect(await failureOf(delayed)).toMatchObject({
    code: "InvalidParameterValue",
    message:
      "Value 2 for parameter DelaySeconds is invalid. Reason: The request include parameter that is not valid for this queue type.",
  });
  await endpoint.sqs.sendMessage({ ...message, DelaySeconds: 0 });
  await endpoint.pass(4.999);
  expect(await bodiesOf(QueueUrl)).toEqual([]);
  await endpoint.pass(0.001);
  expect(await bodiesOf(QueueUrl)).toEqual(["x"]);
});

test("[72] sequence numbers have 20 digits, increase, and are returned on receive", async () => {
  const QueueUrl = await endpoint.fifo({ ContentBasedDeduplication: "true" });
  const numbers: string[] = [];
  for (const message of ["a:1", "b:1", "a:2", "a:3"]) {
    numbers.push((await send(QueueUrl, message)).SequenceNumber!);
  }
  for (const number of numbers) expect(number).toMatch(/^\d{20}$/);
  expect(numbers).toEqual(numbers.toSorted());
  expect(new Set(numbers).size).toBe(4);
  const { Messages } = await take(QueueUrl, 10, { MessageSystemAttributeNames: ["All"] });
  const attributesByBody = new Map(Messages.map(({ Body, Attributes }) => [Body, Attributes]));
  expect(attributesByBody.get("a:2")).toMatchObject({
    SequenceNumber: numbers[2],
    MessageGroupId: "a",
  });
  expect(attributesByBody.get("b:1")).toMatchObject({
    SequenceNumber: numbers[1],
    MessageGroupId: "b",
  });
});

test("[73] one receive takes as many messages as it can from a group, then from the next", async () => {
  const queueUrl = await queueWith(["g1:1", "g2:1", "g1:2", "g3:1", "g1:3"]);
  expect(await bodiesOf(queueUrl, 4)).toEqual(["g1:1", "g1:2", "g1:3", "g2:1"]);
  expect(await bodiesOf(queueUrl)).toEqual(["g3:1"]);
});

test("[74] while a message of a group is in flight, no other of the group is delivered, new ones included", async () => {
  const queueUrl = await queueWith(["a:1", "a:2", "b:1"]);
  const first = await take(queueUrl, 1);
  expect(first.bodies).toEqual(["a:1"]);
  await send(queueUrl, "a:3");
  expect(await bodiesOf(queueUrl)).toEqual(["b:1"]);
  await remove(queueUrl, first.handle("a:1"));
  expect(await bodiesOf(queueUrl)).toEqual(["a:2", "a:3"]);
});

test("[74] a group is unblocked when all its messages in flight are deleted, not before", async () => {
  const queueUrl = await queueWith(["a:1", "a:2", "a:3"]);
  const received = await take(queueUrl, 2);
  await remove(queueUrl, received.handle("a:1"));
  expect(await bodiesOf(queueUrl)).toEqual([]);
  await remove(queueUrl, received.handle("a:2"));
  expect(await bodiesOf(queueUrl)).toEqual(["a:3"]);
});

test("[74] deleting the later of two in flight keeps the group blocked", async () => {
  const queueUrl = await queueWith(["a:1", "a:2", "a:3"]);
  const received = await take(queueUrl, 2);
  await remove(queueUrl, received.handle("a:2"));
  expect(await bodiesOf(queueUrl)).toEqual([]);
  await endpoint.pass(10);
  expect(await bodiesOf(queueUrl)).toEqual(["a:1", "a:3"]);
});

test("[75] after a timeout the messages of a group are redelivered in order", async () => {
  const queueUrl = await queueWith(["a:1", "a:2", "a:3"]);
  await take(queueUrl, 2);
  await endpoint.pass(10);
  expect(await bodiesOf(queueUrl)).toEqual(["a:1", "a:2", "a:3"]);
});

test.each([
  ["a:1", []],
  ["a:2", ["a:1"]],
  ["a:3", ["a:1", "a:2"]],
])("[76] extending %s lets only earlier messages return: %j", async (extended, returned) => {
  const queueUrl = await queueWith(["a:1", "a:2", "a:3", "a:4"]);
  const received = await take(queueUrl, 3);
  await change(queueUrl, received.handle(extended), 60);
  await endpoint.pass(10);
  expect(await bodiesOf(queueUrl)).toEqual(returned);
});

test("[77] returning the first of two makes only that message available", async () => {
  const queueUrl = await queueWith(["a:1", "a:2", "a:3", "b:1"]);
  const received = await take(queueUrl, 2);
  await change(queueUrl, received.handle("a:1"), 0);
  expect((await bodiesOf(queueUrl)).toSorted()).toEqual(["a:1", "b:1"]);
  expect(await bodiesOf(queueUrl)).toEqual([]);
});

test("[63] messages behind a blocked group still count as visible", async () => {
  const queueUrl = await queueWith(["a:1", "a:2", "b:1", "b:2", "c:1", "c:2"]);
  const counts = async () => [
    await endpoint.attribute(queueUrl, "ApproximateNumberOfMessages"),
    await endpoint.attribute(queueUrl, "ApproximateNumberOfMessagesNotVisible"),
    await endpoint.attribute(queueUrl, "ApproximateNumberOfMessagesDelayed"),
  ];
  expect(await counts()).toEqual(["6", "0", "0"]);
  await take(queueUrl, 2);
  expect(await counts()).toEqual(["4", "2", "0"]);
});

const attempt = (ReceiveRequestAttemptId: string) => ({ ReceiveRequestAttemptId });

test("[78] a receive retried with its attempt id returns the same messages and hides them again", async () => {
  const queueUrl = await queueWith(["a:1", "a:2", "b:1"]);
  const first = await take(queueUrl, 2, attempt("one"));
  await endpoint.pass(8);
  const second = await take(queueUrl, 2, attempt("one"));
  expect(second.Messages).toEqual(first.Messages);
  await endpoint.pass(8);
  expect(await bodiesOf(queueUrl)).toEqual(["b:1"]);
  await endpoint.pass(2);
  expect(await bodiesOf(queueUrl)).toEqual(["a:1", "a:2"]);
});

test.each<[string, (queueUrl: string, handle: string) => Promise<unknown>]>([
  ["deleted", remove],
  ["changed", (queueUrl, handle) => change(queueUrl, handle, 100)],
])("[78] a receive cannot be retried once one of its messages was %s", async (_what, act) => {
  const queueUrl = await queueWith(["a:1", "a:2"]);
  const first = await take(queueUrl, 2, attempt("one"));
  await act(queueUrl, first.handle("a:1"));
  expect(await failureOf(take(queueUrl, 2, attempt("one")))).toMatchObject({
    code: "InvalidParameterValue",
    message:
      "Value one for parameter ReceiveRequestAttemptId is invalid. Reason: The receiveRequestAttemptId is not valid anymore since the receive call is not retryable.",
  });
});

test("[78] an attempt id expires after 5 minutes", async () => {
  const queueUrl = await queueWith(["a:1"]);
  await take(queueUrl, 1, { ...attempt("one"), VisibilityTimeout: 600 });
  await endpoint.pass(299.999);
  const again = await take(queueUrl, 1, { ...attempt("one"), VisibilityTimeout: 600 });
  expect(again.bodies).toEqual(["a:1"]);
  await endpoint.pass(0.001);
  expect((await take(queueUrl, 1, attempt("one"))).bodies).toEqual([]);
});

test("[78] a standard queue refuses an attempt id", async () => {
  const failure = await failureOf(take(await endpoint.queue(), 1, attempt("one")));
  expect(failure.code).toBe("InvalidParameterValue");
  expect(failure.message).toContain("not valid for this queue type");
});

test("[79] moving a message to the dead-letter queue unblocks its group", async () => {
  const target = await endpoint.fifo({ ContentBasedDeduplication: "true" });
  const arn = await endpoint.attribute(target, "QueueArn");
  const RedrivePolicy = JSON.stringify({ deadLetterTargetArn: arn, maxReceiveCount: 1 });
  const queueUrl = await queueWith(["a:1", "a:2"], { RedrivePolicy });
  expect(await bodiesOf(queueUrl, 1)).toEqual(["a:1"]);
  await endpoint.pass(10);
  expect(await bodiesOf(queueUrl)).toEqual(["a:2"]);
  expect(await bodiesOf(target)).toEqual(["a:1"]);
});
