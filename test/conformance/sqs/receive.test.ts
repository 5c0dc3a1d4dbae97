import { expect, test } from "vitest";
import { type Attributes, failureOf, useEndpoint } from "../../support/endpoint.ts";
import { eventually } from "../../support/eventually.ts";

const endpoint = useEndpoint();

async function queueWith(bodies: string[], attributes: Attributes = {}): Promise<string> {
  const QueueUrl = await endpoint.queue(attributes);
  for (const MessageBody of bodies) await endpoint.sqs.sendMessage({ QueueUrl, MessageBody });
  return QueueUrl;
}

const receive = async (QueueUrl: string, more: object = {}) =>
  (await endpoint.sqs.receiveMessage({ QueueUrl, MaxNumberOfMessages: 10, ...more })).Messages ??
  [];

const bodiesOf = async (queueUrl: string, more: object = {}) =>
  (await receive(queueUrl, more)).map(({ Body }) => Body);

test.each([
  ["MaxNumberOfMessages", 0, "Must be between 1 and 10, if provided."],
  ["MaxNumberOfMessages", 11, "Must be between 1 and 10, if provided."],
  ["WaitTimeSeconds", -1, "Must be >= 0 and <= 20, if provided."],
  ["WaitTimeSeconds", 21, "Must be >= 0 and <= 20, if provided."],
])("[51] a receive cannot have %s %d", async (name, value, reason) => {
  const failure = await failureOf(receive(await endpoint.queue(), { [name]: value }));
  expect(failure).toMatchObject({
    code: "InvalidParameterValue",
    message: `Value ${value} for parameter ${name} is invalid. Reason: ${reason}`,
  });
});

test("[51] a receive returns as many messages as requested, one by default", async () => {
  const queueUrl = await queueWith(Array.from({ length: 12 }, (_, i) => `${i}`));
  expect(await bodiesOf(queueUrl, { MaxNumberOfMessages: undefined })).toEqual(["0"]);
  expect(await bodiesOf(queueUrl)).toHaveLength(10);
  expect(await bodiesOf(queueUrl)).toEqual(["11"]);
});

test("[52] a long poll does not wait to fill its batch", async () => {
  const queueUrl = await queueWith(["only"]);
  expect(await bodiesOf(queueUrl, { WaitTimeSeconds: 20 })).toEqual(["only"]);
});

test("[52] a long poll ends with a message that is sent while it waits", async () => {
  const QueueUrl = await endpoint.queue();
  const poll = await endpoint.inFlight(() => bodiesOf(QueueUrl, { WaitTimeSeconds: 20 }));
  await endpoint.sqs.sendMessage({ QueueUrl, MessageBody: "sent meanwhile" });
  expect(await poll.answer).toEqual(["sent meanwhile"]);
});

test("[52] a long poll ends when a message's visibility timeout does", async () => {
  const queueUrl = await queueWith(["again"]);
  await receive(queueUrl, { VisibilityTimeout: 5 });
  const poll = await endpoint.inFlight(() => bodiesOf(queueUrl, { WaitTimeSeconds: 20 }));
  await endpoint.pass(5);
  expect(await poll.answer).toEqual(["again"]);
});

test("[52] a long poll ends when a message's delay does", async () => {
  const QueueUrl = await endpoint.queue();
  await endpoint.sqs.sendMessage({ QueueUrl, MessageBody: "late", DelaySeconds: 7 });
  const poll = await endpoint.inFlight(() => bodiesOf(QueueUrl, { WaitTimeSeconds: 20 }));
  await endpoint.pass(7);
  expect(await poll.answer).toEqual(["late"]);
});

test("[52] a long poll ends empty after its wait time, or the queue's", async () => {
  const queueUrl = await endpoint.queue({ ReceiveMessageWaitTimeSeconds: "3" });
  const poll = await endpoint.inFlight(() => bodiesOf(queueUrl));
  let over = false;
  poll.answer.then(() => {
    over = true;
  });
  await endpoint.pass(2.999);
  await endpoint.sqs.listQueues(); // Gives a response time to arrive, if there were one.
  expect(over).toBe(false);
  await endpoint.pass(0.001);
  expect(await poll.answer).toEqual([]);
  expect(await bodiesOf(queueUrl, { WaitTimeSeconds: 0 })).toEqual([]); // The request wins.
});

test("[52] a long poll whose client disconnected receives no message", async () => {
  const QueueUrl = await endpoint.queue();
  const abort = new AbortController();
  const poll = await endpoint.inFlight(() =>
    endpoint.sqs.receiveMessage({ QueueUrl, WaitTimeSeconds: 20 }, { abortSignal: abort.signal }),
  );
  abort.abort();
  await expect(poll.answer).rejects.toMatchObject({ name: "AbortError" });
  await eventually(() => expect(poll.signal.aborted).toBe(true));
  await endpoint.sqs.sendMessage({ QueueUrl, MessageBody: "for the next" });
  expect(await bodiesOf(QueueUrl)).toEqual(["for the next"]);
});

test("[53] a receive's own visibility timeout applies to that receive only", async () => {
  const queueUrl = await queueWith(["x"], { VisibilityTimeout: "30" });
  expect(await bodiesOf(queueUrl, { VisibilityTimeout: 5 })).toEqual(["x"]);
  await endpoint.pass(4.999);
  expect(await bodiesOf(queueUrl)).toEqual([]);
  await endpoint.pass(0.001);
  expect(await bodiesOf(queueUrl)).toEqual(["x"]);
  await endpoint.pass(29.999);
  expect(await bodiesOf(queueUrl)).toEqual([]);
  await endpoint.pass(0.001);
  expect(await bodiesOf(queueUrl)).toEqual(["x"]);
});

test("[53] a timeout of zero returns the message, leaves it visible, and counts as a receive", async () => {
  const queueUrl = await queueWith(["x"]);
  const names = { MessageSystemAttributeNames: ["ApproximateReceiveCount"] };
  for (const expected of ["1", "2", "3"]) {
    const [message] = await receive(queueUrl, { VisibilityTimeout: 0, ...names });
    expect(message!.Attributes).toEqual({ ApproximateReceiveCount: expected });
  }
  expect(await endpoint.attribute(queueUrl, "ApproximateNumberOfMessages")).toBe("1");
});

test("[54] every receive has its own handle, which is valid for its queue only", async () => {
  const QueueUrl = await queueWith(["x"]);
  const [first] = await receive(QueueUrl, { VisibilityTimeout: 0 });
  const [second] = await receive(QueueUrl);
  expect(second!.ReceiptHandle).not.toBe(first!.ReceiptHandle);
  expect(second!.MessageId).toBe(first!.MessageId);
  const other = await endpoint.queue();
  const { ReceiptHandle } = second!;
  const calls = [
    endpoint.sqs.deleteMessage({ QueueUrl: other, ReceiptHandle }),
    endpoint.sqs.changeMessageVisibility({ QueueUrl: other, ReceiptHandle, VisibilityTimeout: 1 }),
  ];
  for (const call of calls) expect((await failureOf(call)).shape).toBe("ReceiptHandleIsInvalid");
});

test("[54] an invalid handle is refused with 404", async () => {
  const QueueUrl = await endpoint.queue();
  const ReceiptHandle = "garbage";
  const calls = [
    endpoint.sqs.deleteMessage({ QueueUrl, ReceiptHandle }),
    endpoint.sqs.changeMessageVisibility({ QueueUrl, ReceiptHandle, VisibilityTimeout: 1 }),
  ];
  for (const call of calls) {
    expect(await failureOf(call)).toMatchObject({
      shape: "ReceiptHandleIsInvalid",
      status: 404,
      message: 'The input receipt handle "garbage" is not a valid receipt handle.',
    });
  }
});

test("[55] deleting works after the timeout, and twice", async () => {
  const QueueUrl = await queueWith(["x"]);
  const [message] = await receive(QueueUrl, { VisibilityTimeout: 5 });
  await endpoint.pass(6);
  const { ReceiptHandle } = message!;
  await endpoint.sqs.deleteMessage({ QueueUrl, ReceiptHandle });
  expect(await bodiesOf(QueueUrl)).toEqual([]);
  await endpoint.sqs.deleteMessage({ QueueUrl, ReceiptHandle });
});

test("[55] an earlier handle deletes a message that was received again", async () => {
  const QueueUrl = await queueWith(["x"]);
  const [older] = await receive(QueueUrl, { VisibilityTimeout: 5 });
  await endpoint.pass(5);
  await receive(QueueUrl, { VisibilityTimeout: 5 });
  await endpoint.sqs.deleteMessage({ QueueUrl, ReceiptHandle: older!.ReceiptHandle });
  await endpoint.pass(5);
  expect(await bodiesOf(QueueUrl)).toEqual([]);
});

test("[62] a message has its receive count, its timestamps and its sender", async () => {
  const queueUrl = await queueWith(["x"]);
  const sentAt = endpoint.cloud.clock.now();
  await endpoint.pass(2);
  const names = { VisibilityTimeout: 1, MessageSystemAttributeNames: ["All"] };
  const [first] = await receive(queueUrl, names);
  expect(first!.Attributes).toEqual({
    ApproximateFirstReceiveTimestamp: String(sentAt + 2_000),
    ApproximateReceiveCount: "1",
    SenderId: expect.stringMatching(/^(AIDA|AROA)[A-Z0-9]+(:.+)?$/),
    SentTimestamp: String(sentAt),
  });
  await endpoint.pass(3);
  const [second] = await receive(queueUrl, names);
  expect(second!.Attributes).toEqual({ ...first!.Attributes, ApproximateReceiveCount: "2" });
});

test("[64] a message expires after its retention, counted from sending, in flight or not", async () => {
  const queueUrl = await queueWith(["hidden", "waiting"], { MessageRetentionPeriod: "60" });
  await receive(queueUrl, { MaxNumberOfMessages: 1, VisibilityTimeout: 30 });
  await endpoint.pass(59.999);
  expect(await bodiesOf(queueUrl, { VisibilityTimeout: 0 })).toHaveLength(2);
  await endpoint.pass(0.001);
  expect(await bodiesOf(queueUrl)).toEqual([]);
  const held = await queueWith(["in flight"], { MessageRetentionPeriod: "60" });
  await receive(held, { VisibilityTimeout: 600 });
  await endpoint.pass(60);
  expect(await endpoint.attribute(held, "ApproximateNumberOfMessagesNotVisible")).toBe("0");
});

test("[64] a lower retention also applies to existing messages", async () => {
  const QueueUrl = await queueWith(["old"]);
  await endpoint.pass(100);
  await endpoint.sqs.sendMessage({ QueueUrl, MessageBody: "young" });
  const Attributes = { MessageRetentionPeriod: "60" };
  await endpoint.sqs.setQueueAttributes({ QueueUrl, Attributes });
  expect(await bodiesOf(QueueUrl)).toEqual(["young"]);
});

test("[65] a purge deletes visible, in-flight and delayed messages, once a minute", async () => {
  const QueueUrl = await queueWith(["a", "b"]);
  await endpoint.sqs.sendMessage({ QueueUrl, MessageBody: "late", DelaySeconds: 5 });
  const [received] = await receive(QueueUrl, { MaxNumberOfMessages: 1, VisibilityTimeout: 5 });
  await endpoint.sqs.purgeQueue({ QueueUrl });
  await endpoint.pass(5);
  expect(await bodiesOf(QueueUrl)).toEqual([]);
  const { ReceiptHandle } = received!;
  await endpoint.sqs.deleteMessage({ QueueUrl, ReceiptHandle }); // Already deleted, which succeeds.
  const name = QueueUrl.split("/").at(-1);
  expect(await failureOf(endpoint.sqs.purgeQueue({ QueueUrl }))).toMatchObject({
    shape: "PurgeQueueInProgress",
    status: 403,
    message: `Only one PurgeQueue operation on ${name} is allowed every 60 seconds.`,
  });
  await endpoint.pass(55);
  await endpoint.sqs.purgeQueue({ QueueUrl });
});
