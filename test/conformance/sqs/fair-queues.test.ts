import { expect, test } from "vitest";
import { useEndpoint } from "../../support/endpoint.ts";

const endpoint = useEndpoint();

/** Sends `count` messages of a tenant; without a tenant, each message is its own. */
async function send(QueueUrl: string, tenant: string | null, count: number): Promise<void> {
  for (let sent = 0; sent < count; sent += 10) {
    const Entries = Array.from({ length: Math.min(10, count - sent) }, (_, i) => ({
      Id: `${i}`,
      MessageBody: tenant ?? "single",
      ...(tenant !== null && { MessageGroupId: tenant }),
    }));
    await endpoint.sqs.sendMessageBatch({ QueueUrl, Entries });
  }
}

/** Receives up to `count` messages, hides them for an hour, and returns their bodies. */
async function take(QueueUrl: string, count: number, VisibilityTimeout = 3_600) {
  const received: { body: string; handle: string }[] = [];
  while (received.length < count) {
    const MaxNumberOfMessages = Math.min(10, count - received.length);
    const request = { QueueUrl, MaxNumberOfMessages, VisibilityTimeout };
    const { Messages = [] } = await endpoint.sqs.receiveMessage(request);
    if (Messages.length === 0) break;
    for (const { Body, ReceiptHandle } of Messages) {
      received.push({ body: Body!, handle: ReceiptHandle! });
    }
  }
  return received;
}

const bodiesOf = async (queueUrl: string, count: number) =>
  (await take(queueUrl, count)).map(({ body }) => body);

const many = (body: string, count: number) => Array.from({ length: count }, () => body);

test("[88] a tenant with many messages in flight is served after the quiet ones", async () => {
  const queueUrl = await endpoint.queue();
  await send(queueUrl, "noisy", 60);
  expect(await bodiesOf(queueUrl, 40)).toEqual(many("noisy", 40));
  await send(queueUrl, "quiet", 3);
  await send(queueUrl, null, 2);
  const rest = await bodiesOf(queueUrl, 10);
  expect(rest).toEqual(["quiet", "quiet", "quiet", "single", "single", ...many("noisy", 5)]);
});

test("[88] a tenant with fewer than 30 messages in flight is served in order", async () => {
  const queueUrl = await endpoint.queue();
  await send(queueUrl, "modest", 40);
  await take(queueUrl, 29);
  await send(queueUrl, "later", 1);
  expect(await bodiesOf(queueUrl, 1)).toEqual(["modest"]);
});

test("[88] a tenant with at most a tenth of the messages in flight is served in order", async () => {
  const queueUrl = await endpoint.queue();
  await send(queueUrl, null, 290);
  await take(queueUrl, 290);
  await send(queueUrl, "modest", 40);
  await take(queueUrl, 30);
  await send(queueUrl, "later", 1);
  expect(await bodiesOf(queueUrl, 1)).toEqual(["modest"]);
});

test("[88] among noisy tenants the one with the fewest messages in flight is served first", async () => {
  const queueUrl = await endpoint.queue();
  await send(queueUrl, "noisiest", 60);
  await take(queueUrl, 50);
  await send(queueUrl, "noisy", 60);
  // It is quiet until it also has 30 in flight; from then on it is the less noisy of the two.
  expect(await bodiesOf(queueUrl, 45)).toEqual(many("noisy", 45));
});

test("[88] a tenant that used more than a tenth of the recent time is noisy", async () => {
  const QueueUrl = await endpoint.queue();
  await send(QueueUrl, "slow", 3);
  const [slow] = await take(QueueUrl, 1);
  await endpoint.pass(30);
  await endpoint.sqs.deleteMessage({ QueueUrl, ReceiptHandle: slow!.handle });
  await send(QueueUrl, "quick", 1);
  expect(await bodiesOf(QueueUrl, 1)).toEqual(["quick"]);
});

test("[88] a tenant is quiet again once its backlog is gone", async () => {
  const QueueUrl = await endpoint.queue();
  await send(QueueUrl, "noisy", 40);
  for (const { handle } of await take(QueueUrl, 40)) {
    await endpoint.sqs.deleteMessage({ QueueUrl, ReceiptHandle: handle });
  }
  await send(QueueUrl, "noisy", 1);
  await send(QueueUrl, "quiet", 1);
  expect(await bodiesOf(QueueUrl, 2)).toEqual(["noisy", "quiet"]);
});

test("[88] a tenant is quiet again after five minutes without a message", async () => {
  const queueUrl = await endpoint.queue();
  await send(queueUrl, "noisy", 60);
  await take(queueUrl, 40);
  await endpoint.pass(301);
  await send(queueUrl, "quiet", 1);
  expect(await bodiesOf(queueUrl, 1)).toEqual(["noisy"]);
});

test("[88] no message waits for another of its tenant", async () => {
  const queueUrl = await endpoint.queue();
  await send(queueUrl, "tenant", 2);
  expect(await bodiesOf(queueUrl, 1)).toEqual(["tenant"]);
  expect(await bodiesOf(queueUrl, 1)).toEqual(["tenant"]);
});
