// Trace propagation: on every path through the embedded cloud, the consumer gets the trace that the
// producer set.

import { PutObjectCommand, S3Client } from "@aws-sdk/client-s3";
import { SNSClient } from "@aws-sdk/client-sns";
import { SQSClient } from "@aws-sdk/client-sqs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createSnsTopic } from "../../../src/aws/sns/sns-topic.ts";
import { createSqsQueue } from "../../../src/aws/sqs/sqs-queue.ts";
import { createBrokerQueue } from "../../../src/cloud/broker-queue.ts";
import { type Cloud, startCloud } from "../../../src/cloud/start-cloud.ts";
import { decodeBody } from "../../../src/core/events/decode/decode.ts";
import { extractTrace } from "../../../src/core/events/trace-context.ts";
import { seconds } from "../../../src/core/units.ts";
import type { QueueReceiver } from "../../../src/ports/queue-receiver.ts";
import { createProducer } from "../../../src/produce/producer.ts";
import { createMemoryOutbox } from "../../../src/stores/memory/outbox.ts";
import { event } from "../../support/producer-world.ts";
import { systemClock as clock, random, turn } from "../../support/stores/real-ports.ts";

const ID = "5759e988bd862e3fe1be46a994272793";
const SPAN = "53995c3f42cd8ad8";
const trace = { traceparent: `00-${ID}-${SPAN}-01`, tracestate: "vendor=opaque" };
const XRAY = `Root=1-${ID.slice(0, 8)}-${ID.slice(8)};Parent=${SPAN};Sampled=1`;
const account = "000000000000";
const region = "us-east-1";
const credentials = { accessKeyId: "any", secretAccessKey: "any" };

let cloud: Cloud;
const clients: { destroy(): void }[] = [];
const track = <T extends { destroy(): void }>(client: T): T => {
  clients.push(client);
  return client;
};
const options = () => ({ endpoint: cloud.endpoint, region, credentials, maxAttempts: 1 });

beforeAll(async () => {
  cloud = await startCloud({
    memory: true,
    setup: {
      queues: [{ name: "direct" }, { name: "raw" }, { name: "wrapped" }],
      topics: [{ name: "events" }],
      subscriptions: [
        { topic: "events", queue: "raw", raw: true },
        { topic: "events", queue: "wrapped" },
      ],
      buckets: [
        {
          name: "landing",
          notifications: [
            { topic: "events", events: ["s3:ObjectCreated:*"], prefix: "topic/" },
            { queue: "direct", events: ["s3:ObjectCreated:*"], prefix: "queue/" },
          ],
        },
      ],
    },
  });
});

afterAll(async () => {
  for (const client of clients) client.destroy();
  await cloud.close();
});

/** Receives and deletes all messages; skips test events of S3, which have no trace. */
async function extractAll(queue: QueueReceiver) {
  const ask = { max: 10, waitMs: seconds(0), visibilityMs: seconds(30) };
  const deliveries = await queue.receive(ask, new AbortController().signal);
  if (deliveries.length === 0) return [];
  await queue.deleteBatch(deliveries.map(({ receipt }) => receipt));
  return deliveries.flatMap(({ body, attributes, traceHeader }) => {
    const { kind, layers } = decodeBody(body);
    if (kind === "test-event") return [];
    return [
      { kind, wrapped: layers.length > 0, ...extractTrace({ attributes, layers, traceHeader }) },
    ];
  });
}

const transports: [string, (queue: string) => QueueReceiver][] = [
  ["in process", (queue) => createBrokerQueue(cloud.broker, { queue })],
  [
    "through the AWS SDK",
    (queue) => {
      const queueUrl = `${cloud.endpoint}/${account}/${queue}`;
      return createSqsQueue({ client: track(new SQSClient(options())), queueUrl });
    },
  ],
];

describe.each(transports)("%s", (transport, open) => {
  const key = (name: string) => event(`${name} ${transport}`);
  const outbox = createMemoryOutbox({ clock });

  test("a message to a topic keeps its trace and trace state, raw and wrapped", async () => {
    const topicArn = `arn:aws:sns:${region}:${account}:events`;
    const target = createSnsTopic({ client: track(new SNSClient(options())), topicArn });
    const producer = createProducer({ target, outbox, clock, random, turn });
    await producer.send({ ...key("topic"), trace });
    const expected = { kind: "envelope", context: trace, traceId: ID };
    expect(await extractAll(open("raw"))).toEqual([{ ...expected, wrapped: false }]);
    expect(await extractAll(open("wrapped"))).toEqual([{ ...expected, wrapped: true }]);
  });

  test("a message to a queue keeps its trace, for Tidegate and for AWS's own services", async () => {
    const target = open("direct") as ReturnType<typeof createSqsQueue>;
    await extractAll(target);
    const producer = createProducer({ target, outbox, clock, random, turn });
    await producer.send({ ...key("queue"), trace });
    const ask = { max: 1, waitMs: seconds(0), visibilityMs: seconds(0) };
    const [delivery] = await target.receive(ask, new AbortController().signal);
    expect(delivery).toMatchObject({ attributes: { ...trace }, traceHeader: XRAY });
    expect(await extractAll(target)).toMatchObject([{ context: trace, traceId: ID }]);
  });

  test("the trace of a PutObject is propagated through S3, SNS and SQS", async () => {
    const client = track(new S3Client({ ...options(), forcePathStyle: true }));
    client.middlewareStack.add(
      (next) => (args) => {
        (args.request as { headers: Record<string, string> }).headers["X-Amzn-Trace-Id"] = XRAY;
        return next(args);
      },
      { step: "build" },
    );
    await extractAll(open("direct"));
    for (const Key of ["topic/a.csv", "queue/a.csv"]) {
      await client.send(new PutObjectCommand({ Bucket: "landing", Key, Body: "1" }));
    }
    const context = { traceparent: trace.traceparent, tracestate: null };
    const expected = { kind: "records", context, traceId: ID };
    expect(await extractAll(open("direct"))).toEqual([{ ...expected, wrapped: false }]);
    expect(await extractAll(open("raw"))).toEqual([{ ...expected, wrapped: false }]);
    expect(await extractAll(open("wrapped"))).toEqual([{ ...expected, wrapped: true }]);
  });
});
