// The whole chain: a bucket notifies a topic, and the topic fans out into queues, in one commit.

import { SNS } from "@aws-sdk/client-sns";
import { afterAll, beforeAll, expect, test } from "vitest";
import {
  ACCOUNT,
  type EventQueue,
  REGION,
  s3FailureOf,
  useBuckets,
} from "../../support/s3-buckets.ts";

const buckets = useBuckets();
const guarded = useBuckets({ enforcePolicies: true });
let sns: SNS;

beforeAll(() => {
  const credentials = { accessKeyId: "test", secretAccessKey: "test" };
  sns = new SNS({ endpoint: buckets.url, region: REGION, credentials });
});
afterAll(() => sns.destroy());

async function subscribe(TopicArn: string, Attributes: Record<string, string>) {
  const queue = await buckets.queue();
  await sns.subscribe({ TopicArn, Protocol: "sqs", Endpoint: queue.arn, Attributes });
  return queue;
}

async function notifying(TopicArn: string): Promise<string> {
  const Bucket = await buckets.bucket();
  const TopicConfigurations = [{ TopicArn, Events: ["s3:ObjectCreated:*" as const] }];
  const NotificationConfiguration = { TopicConfigurations };
  await buckets.s3.putBucketNotificationConfiguration({ Bucket, NotificationConfiguration });
  return Bucket;
}

test("[109][113][116] one put reaches every queue of the topic, raw, wrapped and filtered", async () => {
  const { TopicArn = "" } = await sns.createTopic({ Name: "uploads" });
  const raw = await subscribe(TopicArn, { RawMessageDelivery: "true" });
  const FilterPolicy = JSON.stringify({
    Records: { s3: { object: { key: [{ prefix: "in/" }] } } },
  });
  const wrapped = await subscribe(TopicArn, { FilterPolicy, FilterPolicyScope: "MessageBody" });
  const Bucket = await notifying(TopicArn);
  const [tested] = await buckets.drain(raw);
  expect(tested).toMatchObject({ Event: "s3:TestEvent", Bucket });
  expect(await buckets.drain(wrapped)).toEqual([]);

  const put = await buckets.s3.putObject({ Bucket, Key: "in/a b+ü.csv", Body: "hello" });
  await buckets.s3.putObject({ Bucket, Key: "out/b", Body: "hello" });
  const events = await buckets.drain(raw);
  expect(events.map(({ Records: [record] }) => record.s3.object.key)).toEqual([
    "in/a+b%2B%C3%BC.csv",
    "out/b",
  ]);
  const notifications = await buckets.drain(wrapped);
  expect(notifications).toHaveLength(1);
  expect(notifications[0]).toMatchObject({
    Type: "Notification",
    TopicArn,
    Subject: "Amazon S3 Notification",
    Signature: expect.stringMatching(/^[A-Za-z0-9+/]{300,}=*$/),
  });
  const message = JSON.parse(notifications[0].Message);
  expect(message).toEqual(events[0]);
  expect(message.Records[0].responseElements["x-amz-request-id"]).toBe(put.$metadata.requestId);
});

test("[117] a FIFO topic is refused, and a put succeeds although its topic was deleted", async () => {
  const Attributes = { FifoTopic: "true" };
  const fifo = await sns.createTopic({ Name: "ordered.fifo", Attributes });
  const refused = await s3FailureOf(notifying(fifo.TopicArn ?? ""));
  expect(refused).toMatchObject({
    code: "InvalidArgument",
    message: "FIFO SNS topics are not supported.",
  });
  const { TopicArn = "" } = await sns.createTopic({ Name: "short-lived" });
  const Bucket = await notifying(TopicArn);
  await sns.deleteTopic({ TopicArn });
  await buckets.s3.putObject({ Bucket, Key: "k", Body: "x" });
});

function policyFor(queue: EventQueue, bucket: string): string {
  const Statement = {
    Effect: "Allow",
    Principal: { Service: "s3.amazonaws.com" },
    Action: "sqs:SendMessage",
    Resource: queue.arn,
    Condition: {
      ArnLike: { "aws:SourceArn": `arn:aws:s3:::${bucket}` },
      StringEquals: { "aws:SourceAccount": ACCOUNT },
    },
  };
  return JSON.stringify({ Version: "2012-10-17", Statement });
}

test("[117] if policies are enforced, the queue's policy must allow the bucket", async () => {
  const Bucket = await guarded.bucket();
  const queue = await guarded.queue();
  const QueueConfigurations = [{ QueueArn: queue.arn, Events: ["s3:ObjectCreated:*" as const] }];
  const NotificationConfiguration = { QueueConfigurations };
  const configure = () =>
    guarded.s3.putBucketNotificationConfiguration({ Bucket, NotificationConfiguration });
  expect((await s3FailureOf(configure())).fields).toMatchObject({
    ArgumentName1: queue.arn,
    ArgumentValue1: expect.stringContaining("do not allow S3 to publish notifications"),
  });
  const allow = (Policy: string) =>
    guarded.sqs.setQueueAttributes({ QueueUrl: queue.url, Attributes: { Policy } });
  await allow(policyFor(queue, Bucket));
  await configure();
  await guarded.s3.putObject({ Bucket, Key: "k", Body: "x" });
  expect(await guarded.drain(queue)).toHaveLength(2);
  await allow(policyFor(queue, "another-bucket"));
  await guarded.s3.putObject({ Bucket, Key: "k", Body: "y" });
  expect(await guarded.drain(queue)).toEqual([]);
});
