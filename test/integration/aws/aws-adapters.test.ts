// The adapters to AWS over HTTP: SQS against the embedded cloud; SNS and S3, which it does not yet
// have, against another implementation from npm.

import { CreateBucketCommand, S3Client } from "@aws-sdk/client-s3";
import { CreateTopicCommand, SNSClient, SubscribeCommand } from "@aws-sdk/client-sns";
import {
  CreateQueueCommand,
  GetQueueAttributesCommand,
  ReceiveMessageCommand,
  SQSClient,
} from "@aws-sdk/client-sqs";
import { type FauxqsServer, startFauxqs } from "fauxqs";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createS3Objects } from "../../../src/aws/s3/s3-objects.ts";
import { createSnsTopic } from "../../../src/aws/sns/sns-topic.ts";
import { createSqsQueue } from "../../../src/aws/sqs/sqs-queue.ts";
import { type Cloud, startCloud } from "../../../src/cloud/start-cloud.ts";
import { epochMs } from "../../../src/core/units.ts";
import type { OutgoingMessage } from "../../../src/ports/queue.ts";
import { perEntity } from "../../../src/produce/group-strategy.ts";
import { createProducer } from "../../../src/produce/producer.ts";
import { createMemoryOutbox } from "../../../src/stores/memory/outbox.ts";
import { createManualClock } from "../../support/manual-clock.ts";
import { event } from "../../support/producer-world.ts";
import { random, turn } from "../../support/stores/real-ports.ts";

const credentials = { accessKeyId: "any", secretAccessKey: "any" };
const region = "us-east-1";
const clock = createManualClock(epochMs(1_700_000_000_000));
let cloud: Cloud;
let faux: FauxqsServer;
const clients: { destroy(): void }[] = [];
const at = (endpoint: string) => ({ endpoint, region, credentials, maxAttempts: 1 });
function keep<T extends { destroy(): void }>(client: T): T {
  clients.push(client);
  return client;
}
beforeAll(async () => {
  cloud = await startCloud({ memory: true });
  faux = await startFauxqs({ port: 0, logger: false });
});
afterAll(async () => {
  for (const client of clients) client.destroy();
  await faux.stop();
  await cloud.close();
});
const fauxEndpoint = () => `http://127.0.0.1:${faux.port}`;

const message = (body: string, more: Partial<OutgoingMessage> = {}): OutgoingMessage => ({
  body,
  attributes: { traceparent: "00-1-2-01" },
  groupId: "g",
  dedupId: `id-${body}`,
  ...more,
});

test("SQS: entries are answered one by one, in their order, the refused ones with why", async () => {
  const client = keep(new SQSClient(at(cloud.endpoint)));
  const create = new CreateQueueCommand({
    QueueName: "small.fifo",
    Attributes: { FifoQueue: "true", MaximumMessageSize: "1024" },
  });
  const { QueueUrl = "" } = await client.send(create);
  const queue = createSqsQueue({ client, queueUrl: QueueUrl });
  expect(queue).toMatchObject({ kind: "queue", name: "small.fifo", fifo: true });
  const outcomes = await queue.sendBatch([
    message("a"),
    message("b".repeat(2_000), { dedupId: "big" }),
    message("c"),
  ]);
  expect(outcomes).toMatchObject([
    { kind: "sent", sequenceNumber: expect.stringMatching(/^\d{20}$/) },
    { kind: "refused", retry: "never" },
    { kind: "sent" },
  ]);
  const received = await client.send(
    new ReceiveMessageCommand({ QueueUrl, MessageAttributeNames: ["All"], MaxNumberOfMessages: 1 }),
  );
  expect(received.Messages?.[0]).toMatchObject({
    Body: "a",
    MessageAttributes: { traceparent: { StringValue: "00-1-2-01" } },
  });
});

test("SQS: a queue that is not there is refused; a server that is down may pass", async () => {
  const client = keep(new SQSClient(at(cloud.endpoint)));
  const absent = createSqsQueue({ client, queueUrl: `${cloud.endpoint}/000000000000/none` });
  await expect(absent.sendBatch([message("a", { dedupId: null })])).rejects.toMatchObject({
    code: "TG_QUEUE_REFUSED",
  });
  const nowhere = keep(new SQSClient(at("http://127.0.0.1:1")));
  const down = createSqsQueue({ client: nowhere, queueUrl: "http://127.0.0.1:1/0/q.fifo" });
  await expect(down.sendBatch([message("a")])).rejects.toMatchObject({
    code: "TG_QUEUE_UNAVAILABLE",
  });
  for (const queueUrl of ["", "orders", "http://host/"]) {
    const wrong = () => createSqsQueue({ client, queueUrl });
    expect(wrong).toThrow(expect.objectContaining({ code: "TG_CONFIG_INVALID" }));
  }
});

test("SNS: a producer sends to a FIFO topic, and a queue behind it gets the body as it is", async () => {
  const sns = keep(new SNSClient(at(fauxEndpoint())));
  const sqs = keep(new SQSClient(at(fauxEndpoint())));
  const fifo = { FifoTopic: "true" };
  const { TopicArn = "" } = await sns.send(
    new CreateTopicCommand({ Name: "scenes.fifo", Attributes: fifo }),
  );
  const { QueueUrl = "" } = await sqs.send(
    new CreateQueueCommand({ QueueName: "scenes.fifo", Attributes: { FifoQueue: "true" } }),
  );
  const { Attributes } = await sqs.send(
    new GetQueueAttributesCommand({ QueueUrl, AttributeNames: ["QueueArn"] }),
  );
  const Endpoint = Attributes?.QueueArn ?? "";
  const raw = { RawMessageDelivery: "true" };
  await sns.send(new SubscribeCommand({ TopicArn, Protocol: "sqs", Endpoint, Attributes: raw }));
  const target = createSnsTopic({ client: sns, topicArn: TopicArn });
  expect(target).toMatchObject({ kind: "topic", name: "scenes.fifo", fifo: true });
  const outbox = createMemoryOutbox({ clock });
  const groups = perEntity(({ dedupeKey }) => dedupeKey);
  const producer = createProducer({ target, outbox, clock, random, turn }, { groups });
  await Promise.all(["a", "b"].map((name) => producer.send(event(name))));
  expect(await producer.send(event("a"))).toMatchObject({ kind: "already-sent" });
  const { Messages = [] } = await sqs.send(
    new ReceiveMessageCommand({ QueueUrl, MaxNumberOfMessages: 10 }),
  );
  const keys = Messages.map(({ Body = "" }) => JSON.parse(Body).dedupe_key);
  expect(keys.toSorted()).toEqual(["a", "b"]);
});

test("SNS: a topic that does not exist, or is not an ARN, is rejected", async () => {
  const client = keep(new SNSClient(at(fauxEndpoint())));
  const topicArn = "arn:aws:sns:us-east-1:000000000000:none";
  const absent = createSnsTopic({ client, topicArn });
  await expect(
    absent.sendBatch([message("a", { groupId: null, dedupId: null })]),
  ).rejects.toMatchObject({ code: "TG_QUEUE_REFUSED" });
  const wrong = () => createSnsTopic({ client, topicArn: "scenes" });
  expect(wrong).toThrow(expect.objectContaining({ code: "TG_CONFIG_INVALID" }));
});

test("S3: what was put comes back; what was not is undefined; no bucket is an error", async () => {
  const client = keep(new S3Client({ ...at(fauxEndpoint()), forcePathStyle: true }));
  await client.send(new CreateBucketCommand({ Bucket: "payloads" }));
  const objects = createS3Objects({ client });
  const bytes = new TextEncoder().encode('{"ü":1}');
  await objects.put("payloads", "a b/ü.json", bytes);
  expect(await objects.get("payloads", "a b/ü.json")).toEqual(bytes);
  expect(await objects.get("payloads", "none")).toBeUndefined();
  const nowhere = objects.put("no-such-bucket", "k", bytes);
  await expect(nowhere).rejects.toMatchObject({ code: "TG_OBJECTS_UNAVAILABLE" });
});
