import { expect, test } from "vitest";
import { failureOf, useEndpoint } from "../../support/endpoint.ts";

const endpoint = useEndpoint();

async function queueWithMessage(fifo = false): Promise<string> {
  const QueueUrl = fifo ? await endpoint.fifo() : await endpoint.queue();
  const ids = fifo ? { MessageGroupId: "g", MessageDeduplicationId: "d" } : {};
  await endpoint.sqs.sendMessage({ QueueUrl, MessageBody: "x", ...ids });
  return QueueUrl;
}

/** The handle of the message, or null if no message is visible. */
async function take(QueueUrl: string, VisibilityTimeout = 10): Promise<string | null> {
  const { Messages } = await endpoint.sqs.receiveMessage({ QueueUrl, VisibilityTimeout });
  return Messages?.[0]?.ReceiptHandle ?? null;
}

const change = (QueueUrl: string, ReceiptHandle: string | null, VisibilityTimeout: number) =>
  endpoint.sqs.changeMessageVisibility({
    QueueUrl,
    ReceiptHandle: ReceiptHandle!,
    VisibilityTimeout,
  });

const remove = (QueueUrl: string, ReceiptHandle: string | null) =>
  endpoint.sqs.deleteMessage({ QueueUrl, ReceiptHandle: ReceiptHandle! });

test("[56] on a FIFO queue a handle does not delete after its timeout", async () => {
  const queueUrl = await queueWithMessage(true);
  const handle = await take(queueUrl, 5);
  await endpoint.pass(5);
  expect(await failureOf(remove(queueUrl, handle))).toMatchObject({
    code: "InvalidParameterValue",
    message: `Value ${handle} for parameter ReceiptHandle is invalid. Reason: The receipt handle has expired.`,
  });
  const again = await take(queueUrl);
  expect(again).not.toBeNull();
  await remove(queueUrl, again);
});

test("[56] in a batch an expired handle fails only its entry, with another message", async () => {
  const QueueUrl = await queueWithMessage(true);
  const ReceiptHandle = (await take(QueueUrl, 5))!;
  await endpoint.pass(5);
  const Entries = [{ Id: "late", ReceiptHandle }];
  const { Successful, Failed } = await endpoint.sqs.deleteMessageBatch({ QueueUrl, Entries });
  expect(Successful).toBeUndefined();
  expect(Failed).toEqual([
    {
      Id: "late",
      SenderFault: true,
      Code: "ReceiptHandleIsInvalid",
      Message: "The receipt handle has expired",
    },
  ]);
});

test("[56] on a FIFO queue an extended handle deletes after its first timeout", async () => {
  const queueUrl = await queueWithMessage(true);
  const handle = await take(queueUrl, 5);
  await change(queueUrl, handle, 60);
  await endpoint.pass(30);
  await remove(queueUrl, handle);
  await endpoint.pass(60);
  expect(await take(queueUrl)).toBeNull();
});

test.each([
  ["standard", false],
  ["FIFO", true],
])(
  "[57] on a %s queue the latest handle hides a message that is visible again",
  async (_type, fifo) => {
    const queueUrl = await queueWithMessage(fifo);
    const handle = await take(queueUrl, 5);
    await endpoint.pass(5);
    await change(queueUrl, handle, 10);
    expect(await take(queueUrl)).toBeNull();
    await endpoint.pass(10);
    expect(await take(queueUrl)).not.toBeNull();
  },
);

test("[58] on a standard queue an older handle still changes visibility", async () => {
  const queueUrl = await queueWithMessage();
  const older = await take(queueUrl, 0);
  await take(queueUrl, 30);
  await change(queueUrl, older, 0);
  expect(await take(queueUrl)).not.toBeNull();
});

test("[59] the visibility of a deleted message cannot be changed", async () => {
  const queueUrl = await queueWithMessage();
  const handle = await take(queueUrl);
  await remove(queueUrl, handle);
  expect(await failureOf(change(queueUrl, handle, 5))).toMatchObject({
    code: "InvalidParameterValue",
    message:
      `Value ${handle} for parameter ReceiptHandle is invalid. Reason: Message does not exist ` +
      "or is not available for visibility timeout change.",
  });
});

test("[60] a message is hidden for 0 to 43200 seconds", async () => {
  const queueUrl = await queueWithMessage();
  const handle = await take(queueUrl);
  for (const seconds of [-1, 43_201]) {
    expect((await failureOf(change(queueUrl, handle, seconds))).code).toBe("InvalidParameterValue");
  }
  await change(queueUrl, handle, 43_200);
  await endpoint.pass(43_199.999);
  expect(await take(queueUrl)).toBeNull();
  await endpoint.pass(0.001);
  expect(await take(queueUrl)).not.toBeNull();
});

test("[60] no change hides a message for more than twelve hours since its receive", async () => {
  const queueUrl = await queueWithMessage();
  const handle = await take(queueUrl, 43_200);
  await endpoint.pass(10);
  expect(await failureOf(change(queueUrl, handle, 43_191))).toMatchObject({
    code: "InvalidParameterValue",
    message: expect.stringContaining(
      "Total VisibilityTimeout for the message is beyond the limit [43200 seconds]",
    ),
  });
  await change(queueUrl, handle, 43_190);
});

test("[60] a changed timeout does not apply to later receives", async () => {
  const QueueUrl = await queueWithMessage();
  await endpoint.sqs.setQueueAttributes({ QueueUrl, Attributes: { VisibilityTimeout: "20" } });
  await change(QueueUrl, await take(QueueUrl), 100);
  await endpoint.pass(100);
  expect((await endpoint.sqs.receiveMessage({ QueueUrl })).Messages).toHaveLength(1);
  await endpoint.pass(20);
  expect(await take(QueueUrl)).not.toBeNull();
});

test("a timeout of zero makes a message visible immediately, and a long poll receives it", async () => {
  const QueueUrl = await queueWithMessage();
  const handle = await take(QueueUrl, 600);
  const poll = await endpoint.inFlight(() =>
    endpoint.sqs.receiveMessage({ QueueUrl, WaitTimeSeconds: 20 }),
  );
  await change(QueueUrl, handle, 0);
  expect((await poll.answer).Messages).toHaveLength(1);
});
