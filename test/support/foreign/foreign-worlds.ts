// Foreign worlds: queues, objects and events on other projects' servers, set up as on AWS.
//   W1. The commands reach SQS through a proxy, which can hold back an action. The test's own
//       clients do not.
//   W2. The test knows the body of every event, so that `redeliver` can send exact copies of it:
//       none of these servers delivers twice by itself.

import { S3 } from "@aws-sdk/client-s3";
import { SNS } from "@aws-sdk/client-sns";
import { SQS } from "@aws-sdk/client-sqs";
import { startCloud } from "../../../src/cloud/start-cloud.ts";
import { createForeignProxy, type ForeignProxy } from "./foreign-proxy.ts";

export interface ForeignWorld extends AsyncDisposable {
  readonly proxy: ForeignProxy;
  /** What commands need to find queues and objects. */
  readonly env: Readonly<Record<string, string>>;
  /** Puts the versions of an object, one after the other. */
  put(key: string, ...bodies: readonly string[]): Promise<void>;
  /** The bodies of the events so far (W2). */
  events(): readonly string[];
  /** Sends a copy of every event so far, and returns how many. */
  redeliver(): Promise<number>;
  /** Messages of a queue, visible or in flight. */
  depthOf(queue: "events" | "dead"): Promise<number>;
}

const BUCKET = "stations";
const region = "us-east-1";
const credentials = { accessKeyId: "any", secretAccessKey: "any" };
const EVENTS = ["s3:ObjectCreated:*" as const, "s3:ObjectRemoved:*" as const];
const NAMES = { events: "stations-events", dead: "stations-dead-letters" } as const;
const RECEIVES_MAX = 25;

/** The pipeline's queue and its dead-letter queue, and what a test does to them. */
async function createQueues(sqs: SQS) {
  const create = async (QueueName: string, Attributes: Record<string, string> = {}) => {
    const { QueueUrl = "" } = await sqs.createQueue({ QueueName, Attributes });
    const AttributeNames = ["QueueArn" as const];
    const { Attributes: facts } = await sqs.getQueueAttributes({ QueueUrl, AttributeNames });
    return { url: QueueUrl, arn: facts?.QueueArn ?? "" };
  };
  const dead = await create(NAMES.dead, { MessageRetentionPeriod: "1209600" });
  const policy = { deadLetterTargetArn: dead.arn, maxReceiveCount: RECEIVES_MAX };
  const RedrivePolicy = JSON.stringify(policy);
  const attributes = { ReceiveMessageWaitTimeSeconds: "20", RedrivePolicy };
  const events = await create(NAMES.events, attributes);
  const urls = { events: events.url, dead: dead.url };
  return {
    events,
    send: (MessageBody: string) => sqs.sendMessage({ QueueUrl: events.url, MessageBody }),
    async depthOf(queue: keyof typeof urls) {
      const AttributeNames = [
        "ApproximateNumberOfMessages" as const,
        "ApproximateNumberOfMessagesNotVisible" as const,
      ];
      const request = { QueueUrl: urls[queue], AttributeNames };
      const { Attributes = {} } = await sqs.getQueueAttributes(request);
      return AttributeNames.reduce((sum, name) => sum + Number(Attributes[name]), 0);
    },
  };
}

/** Takes all messages off a queue and returns their bodies. */
async function drain(sqs: SQS, QueueUrl: string): Promise<string[]> {
  const bodies: string[] = [];
  for (;;) {
    const request = { QueueUrl, MaxNumberOfMessages: 10, WaitTimeSeconds: 0 };
    const { Messages = [] } = await sqs.receiveMessage(request);
    if (Messages.length === 0) return bodies;
    for (const { Body = "", ReceiptHandle } of Messages) {
      bodies.push(Body);
      await sqs.deleteMessage({ QueueUrl, ReceiptHandle });
    }
  }
}

/**
 * Queues on ElasticMQ, which has no S3: objects and their events come from the embedded cloud, and
 * the test carries them to ElasticMQ, newest first. So SQS and S3 have two endpoints.
 */
export async function openElasticMqWorld(endpoint: string): Promise<ForeignWorld> {
  const notification = { queue: "carried", events: [...EVENTS] };
  const cloud = await startCloud({
    memory: true,
    setup: {
      queues: [{ name: "carried" }],
      buckets: [{ name: BUCKET, versioning: "Enabled", notifications: [notification] }],
    },
  });
  const proxy = await createForeignProxy(endpoint); // W1
  const sqs = new SQS({ endpoint, region, credentials });
  const own = { endpoint: cloud.endpoint, region, credentials };
  const [s3, carrier] = [new S3({ ...own, forcePathStyle: true }), new SQS(own)];
  const queues = await createQueues(sqs);
  const carried = (await carrier.getQueueUrl({ QueueName: "carried" })).QueueUrl ?? "";
  await drain(carrier, carried); // The test event.
  const bodies: string[] = [];
  return {
    proxy,
    env: { AWS_ENDPOINT_URL_SQS: proxy.endpoint, AWS_ENDPOINT_URL_S3: cloud.endpoint },
    async put(Key, ...versions) {
      for (const Body of versions) await s3.putObject({ Bucket: BUCKET, Key, Body });
      for (const body of (await drain(carrier, carried)).reverse()) {
        await queues.send(body);
        bodies.push(body);
      }
    },
    events: () => bodies,
    async redeliver() {
      for (const body of bodies) await queues.send(body);
      return bodies.length;
    },
    depthOf: queues.depthOf,
    async [Symbol.asyncDispose]() {
      for (const client of [sqs, s3, carrier]) client.destroy();
      await proxy[Symbol.asyncDispose]();
      await cloud.close();
    },
  };
}

/** Everything on moto. The bucket notifies the queue, or a topic that delivers to the queue. */
export async function openMotoWorld(
  endpoint: string,
  route: "queue" | "topic",
): Promise<ForeignWorld> {
  await fetch(`${endpoint}/moto-api/reset`, { method: "POST" });
  const proxy = await createForeignProxy(endpoint); // W1
  const own = { endpoint, region, credentials };
  const [sqs, sns, s3] = [new SQS(own), new SNS(own), new S3({ ...own, forcePathStyle: true })];
  const queues = await createQueues(sqs);
  const { url: QueueUrl, arn: QueueArn } = queues.events;
  await s3.createBucket({ Bucket: BUCKET });
  const NotificationConfiguration =
    route === "queue"
      ? { QueueConfigurations: [{ QueueArn, Events: EVENTS }] }
      : { TopicConfigurations: [{ TopicArn: await topicTo(sns, QueueArn), Events: EVENTS }] };
  await s3.putBucketNotificationConfiguration({ Bucket: BUCKET, NotificationConfiguration });
  const bodies = new Set<string>();
  return {
    proxy,
    env: { TIDEGATE_ENDPOINT: proxy.endpoint },
    async put(Key, ...versions) {
      for (const Body of versions) await s3.putObject({ Bucket: BUCKET, Key, Body });
      // Reads the messages without hiding them (W2); the consumer may have been faster.
      const look = { QueueUrl, MaxNumberOfMessages: 10, VisibilityTimeout: 0, WaitTimeSeconds: 0 };
      for (const { Body: body = "" } of (await sqs.receiveMessage(look)).Messages ?? []) {
        if (body.includes("ObjectCreated")) bodies.add(body); // Not the test event.
      }
    },
    events: () => [...bodies],
    async redeliver() {
      for (const body of bodies) await queues.send(body);
      return bodies.size;
    },
    depthOf: queues.depthOf,
    async [Symbol.asyncDispose]() {
      for (const client of [sqs, sns, s3]) client.destroy();
      await proxy[Symbol.asyncDispose]();
    },
  };
}

/** The ARN of a topic that delivers to the queue. */
async function topicTo(sns: SNS, Endpoint: string): Promise<string> {
  const { TopicArn = "" } = await sns.createTopic({ Name: "stations-objects" });
  await sns.subscribe({ TopicArn, Protocol: "sqs", Endpoint });
  return TopicArn;
}
