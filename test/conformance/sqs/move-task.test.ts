import { expect, test } from "vitest";
import { arnOf, failureOf, useEndpoint } from "../../support/endpoint.ts";

const endpoint = useEndpoint();

/** A queue, its dead-letter queue, and a function that creates dead letters. */
async function createPair(fifo = false) {
  const create = fifo ? endpoint.fifo : endpoint.queue;
  const target = await create();
  const RedrivePolicy = JSON.stringify({ deadLetterTargetArn: arnOf(target), maxReceiveCount: 1 });
  const source = await create({ RedrivePolicy });
  const fail = async (...bodies: string[]) => {
    for (const MessageBody of bodies) {
      const ids = fifo ? { MessageGroupId: "g", MessageDeduplicationId: MessageBody } : {};
      await endpoint.sqs.sendMessage({ QueueUrl: source, MessageBody, ...ids });
    }
    await take(source);
    await take(source);
  };
  return { source, target, fail, SourceArn: arnOf(target) };
}

async function take(QueueUrl: string) {
  const { Messages } = await endpoint.sqs.receiveMessage({
    QueueUrl,
    VisibilityTimeout: 0,
    MaxNumberOfMessages: 10,
    MessageSystemAttributeNames: ["All"],
  });
  return Messages ?? [];
}

const start = (SourceArn: string, more: object = {}) =>
  endpoint.sqs.startMessageMoveTask({ SourceArn, ...more });

const list = async (SourceArn: string, MaxResults?: number) => {
  const request = { SourceArn, ...(MaxResults !== undefined && { MaxResults }) };
  return (await endpoint.sqs.listMessageMoveTasks(request)).Results ?? [];
};

const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64");

test("[84] a task needs a source that exists and is a dead-letter queue", async () => {
  const lone = await endpoint.queue();
  expect(await failureOf(start(`${arnOf(lone)}-not`))).toMatchObject({
    shape: "ResourceNotFoundException",
    status: 404,
    message: "The resource that you specified for the SourceArn parameter doesn't exist.",
  });
  expect(await failureOf(start(arnOf(lone)))).toMatchObject({
    code: "InvalidParameterValue",
    message: "Source queue must be configured as a Dead Letter Queue.",
  });
});

test("[84] a source has one active task at a time", async () => {
  const { fail, SourceArn } = await createPair();
  await fail("a", "b", "c");
  await start(SourceArn, { MaxNumberOfMessagesPerSecond: 1 });
  expect(await failureOf(start(SourceArn))).toMatchObject({
    code: "InvalidParameterValue",
    message:
      "There is already a task running. Only one active task is allowed for a source queue arn at a given time.",
  });
  await endpoint.pass(10);
  await start(SourceArn);
});

test("[84] the rate of a task is 1 to 500 messages per second", async () => {
  const { SourceArn } = await createPair();
  for (const MaxNumberOfMessagesPerSecond of [0, 501]) {
    const failure = await failureOf(start(SourceArn, { MaxNumberOfMessagesPerSecond }));
    expect(failure.code).toBe("InvalidParameterValue");
  }
  await start(SourceArn, { MaxNumberOfMessagesPerSecond: 500 });
});

test("[84] a task does not exceed its rate", async () => {
  const { source, fail, SourceArn } = await createPair();
  await fail("a", "b", "c", "d", "e");
  await start(SourceArn, { MaxNumberOfMessagesPerSecond: 1 });
  await endpoint.pass(2);
  const moved = (await take(source)).length;
  expect(moved).toBeGreaterThanOrEqual(2);
  expect(moved).toBeLessThan(5);
  await endpoint.pass(10);
  expect(await list(SourceArn)).toMatchObject([
    { Status: "COMPLETED", ApproximateNumberOfMessagesMoved: 5 },
  ]);
});

test("[85] a moved message is a new message in its original source", async () => {
  const { source, target, fail, SourceArn } = await createPair();
  await fail("x");
  const [dead] = await take(target);
  await endpoint.pass(5);
  await start(SourceArn);
  await endpoint.pass(1);
  expect(await take(target)).toEqual([]);
  const [alive] = await take(source);
  expect(alive!.Body).toBe("x");
  expect(alive!.MessageId).not.toBe(dead!.MessageId);
  expect(alive!.Attributes).toMatchObject({ ApproximateReceiveCount: "1" });
  const aged = Number(alive!.Attributes!.SentTimestamp) - Number(dead!.Attributes!.SentTimestamp);
  expect(aged).toBeGreaterThanOrEqual(5_000);
  expect(alive!.Attributes).not.toHaveProperty("DeadLetterQueueSourceArn");
});

test("[85] without a destination, each message goes to its own source", async () => {
  const first = await createPair();
  const RedrivePolicy = await endpoint.attribute(first.source, "RedrivePolicy");
  const second = await endpoint.queue({ RedrivePolicy: RedrivePolicy! });
  await first.fail("of the first");
  await endpoint.sqs.sendMessage({ QueueUrl: second, MessageBody: "of the second" });
  await take(second);
  await take(second);
  expect(await take(first.target)).toHaveLength(2);
  await start(first.SourceArn);
  await endpoint.pass(1);
  expect((await take(first.source)).map(({ Body }) => Body)).toEqual(["of the first"]);
  expect((await take(second)).map(({ Body }) => Body)).toEqual(["of the second"]);
});

test("[85] a destination gets all messages and must have the same type", async () => {
  const { source, fail, SourceArn } = await createPair();
  await fail("x");
  const fifo = arnOf(await endpoint.fifo());
  const wrongType = await failureOf(start(SourceArn, { DestinationArn: fifo }));
  expect(wrongType.code).toBe("InvalidParameterValue");
  const missing = await failureOf(start(SourceArn, { DestinationArn: `${SourceArn}-not` }));
  expect(missing).toMatchObject({ shape: "ResourceNotFoundException", status: 404 });
  const destination = await endpoint.queue();
  await start(SourceArn, { DestinationArn: arnOf(destination) });
  await endpoint.pass(1);
  expect((await take(destination)).map(({ Body }) => Body)).toEqual(["x"]);
  expect(await take(source)).toEqual([]);
});

test("[85] FIFO messages are moved in order, with new deduplication ids", async () => {
  const { source, target, fail, SourceArn } = await createPair(true);
  await fail("1", "2", "3");
  expect(await take(target)).toHaveLength(3);
  await endpoint.pass(60);
  await start(SourceArn);
  await endpoint.pass(1);
  expect((await take(source)).map(({ Body }) => Body)).toEqual(["1", "2", "3"]);
});

test("[86] tasks are listed newest first, one by default", async () => {
  const { fail, SourceArn, source } = await createPair();
  await fail("a");
  const startedAt = endpoint.cloud.clock.now();
  await start(SourceArn);
  await endpoint.pass(5);
  await start(SourceArn, { DestinationArn: arnOf(source), MaxNumberOfMessagesPerSecond: 7 });
  await endpoint.pass(5);
  expect(await list(SourceArn)).toHaveLength(1);
  const [newer, older] = await list(SourceArn, 10);
  expect(older).toEqual({
    Status: "COMPLETED",
    SourceArn,
    ApproximateNumberOfMessagesMoved: 1,
    ApproximateNumberOfMessagesToMove: 1,
    StartedTimestamp: startedAt,
  });
  expect(newer).toMatchObject({
    DestinationArn: arnOf(source),
    MaxNumberOfMessagesPerSecond: 7,
    StartedTimestamp: startedAt + 5_000,
  });
  for (const count of [0, 11]) {
    expect((await failureOf(list(SourceArn, count))).code).toBe("InvalidParameterValue");
  }
});

test("[86] a running task has a handle, with which it can be cancelled", async () => {
  const { fail, SourceArn } = await createPair();
  await fail("a", "b", "c", "d");
  const { TaskHandle } = await start(SourceArn, { MaxNumberOfMessagesPerSecond: 1 });
  await endpoint.pass(1);
  expect(await list(SourceArn)).toMatchObject([{ Status: "RUNNING", TaskHandle }]);
  const cancelled = await endpoint.sqs.cancelMessageMoveTask({ TaskHandle });
  expect(cancelled.ApproximateNumberOfMessagesMoved).toBe(2);
  await endpoint.pass(60);
  const [task] = await list(SourceArn);
  expect(task).toMatchObject({ Status: "CANCELLED", ApproximateNumberOfMessagesMoved: 2 });
  expect(task).not.toHaveProperty("TaskHandle");
  const again = await failureOf(endpoint.sqs.cancelMessageMoveTask({ TaskHandle }));
  expect(again.code).toBe("InvalidParameterValue");
});

test("[86] a task whose destination was deleted fails with a reason", async () => {
  const { source, fail, SourceArn } = await createPair();
  await fail("a", "b", "c");
  // Another queue must still use the queue as its target after the source is deleted.
  const RedrivePolicy = await endpoint.attribute(source, "RedrivePolicy");
  await endpoint.queue({ RedrivePolicy: RedrivePolicy! });
  await endpoint.sqs.deleteQueue({ QueueUrl: source });
  await start(SourceArn);
  await endpoint.pass(1);
  expect(await list(SourceArn)).toMatchObject([
    { Status: "FAILED", FailureReason: "AWS.SimpleQueueService.NonExistentQueue" },
  ]);
});

test("[87] a handle is base64 of JSON; malformed handles and unknown tasks have different errors", async () => {
  const { SourceArn } = await createPair();
  const { TaskHandle } = await start(SourceArn);
  const read = JSON.parse(Buffer.from(TaskHandle!, "base64").toString());
  expect(read).toEqual({ taskId: expect.any(String), sourceArn: SourceArn });
  const cancel = (handle: string) =>
    failureOf(endpoint.sqs.cancelMessageMoveTask({ TaskHandle: handle }));
  expect(await cancel("garbage")).toMatchObject({
    code: "InvalidParameterValue",
    message: "Value for parameter TaskHandle is invalid.",
  });
  const unknown = { taskId: "10f57157-fc20-4da4-8e83-4f15b0f0b1f6", sourceArn: SourceArn };
  expect(await cancel(encode(unknown))).toMatchObject({
    shape: "ResourceNotFoundException",
    status: 404,
    message: "Task does not exist.",
  });
});
