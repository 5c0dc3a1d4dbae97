import { describe, expect, test } from "vitest";
import { infraDifferences, type LiveInfra } from "./infra-diff.ts";
import { type InfraPlan, planInfra } from "./infra-plan.ts";

const FACTS = {
  name: "orders",
  bucket: "acme-orders",
  prefix: "in/",
  queue: null,
  visibilityMs: 60_000,
  maxReceiveCount: { standard: 25, fifo: 1_000 },
};
const plan = planInfra(FACTS);
const QUEUE = "arn:aws:sqs:eu-west-1:111122223333:orders-events";
const DEAD = "arn:aws:sqs:eu-west-1:111122223333:orders-dead-letters";
const TOPIC = "arn:aws:sns:eu-west-1:111122223333:orders-objects";

const deny = (action: string, Resource: string) => ({
  Effect: "Deny",
  Principal: "*",
  Action: action,
  Resource,
  Condition: { Bool: { "aws:SecureTransport": "false" } },
});
const policyOf = (...Statement: object[]) => JSON.stringify({ Statement });
const allowTopic = (Resource: string, source = TOPIC) => ({
  Effect: "Allow",
  Principal: { Service: "sns.amazonaws.com" },
  Action: "sqs:SendMessage",
  Resource,
  Condition: { ArnEquals: { "aws:SourceArn": source } },
});

const QUEUE_ATTRIBUTES = {
  VisibilityTimeout: "60",
  MessageRetentionPeriod: "345600",
  ReceiveMessageWaitTimeSeconds: "20",
  SqsManagedSseEnabled: "true",
  RedrivePolicy: JSON.stringify({ deadLetterTargetArn: DEAD, maxReceiveCount: 25 }),
  Policy: policyOf(deny("sqs:*", QUEUE), allowTopic(QUEUE)),
};
const DEAD_ATTRIBUTES = {
  MessageRetentionPeriod: "1209600",
  ReceiveMessageWaitTimeSeconds: "20",
  SqsManagedSseEnabled: "true",
  RedriveAllowPolicy: JSON.stringify({ redrivePermission: "byQueue", sourceQueueArns: [QUEUE] }),
  Policy: policyOf(deny("sqs:*", DEAD), allowTopic(DEAD)),
};
const BUCKET = {
  versioned: true,
  publicAccessBlocked: true,
  encryption: "AES256",
  ownership: "BucketOwnerEnforced",
  policy: policyOf(deny("s3:*", "arn:aws:s3:::acme-orders/*")),
  notifications: [
    {
      targetArn: TOPIC,
      events: ["s3:ObjectCreated:*", "s3:ObjectRemoved:*"],
      prefix: "in/",
      suffix: "",
    },
  ],
};
const SUBSCRIPTION = {
  RawMessageDelivery: "true",
  RedrivePolicy: JSON.stringify({ deadLetterTargetArn: DEAD }),
};
const LIVE: LiveInfra = {
  queue: { arn: QUEUE, attributes: QUEUE_ATTRIBUTES },
  deadLetterQueue: { arn: DEAD, attributes: DEAD_ATTRIBUTES },
  topic: {
    arn: TOPIC,
    attributes: { Policy: policyOf(deny("sns:*", TOPIC)) },
    subscribers: [QUEUE],
    subscription: SUBSCRIPTION,
  },
  lateQueue: null,
  bucket: BUCKET,
  claimCheckBucket: null,
  ledgerTable: {
    keys: ["pk HASH"],
    indexes: { notes: ["np HASH", "nm RANGE"] },
    ttlAttribute: "ttl",
    backedUp: true,
  },
  outboxTable: null,
};

const textsOf = (live: Partial<LiveInfra>, of: InfraPlan = plan) =>
  infraDifferences(of, { ...LIVE, ...live }).map(
    ({ resource, setting, expected, actual }) => `${resource}: ${setting} ${expected} -> ${actual}`,
  );
const queueWith = (attributes: Record<string, string | undefined>) => ({
  queue: { arn: QUEUE, attributes: { ...QUEUE_ATTRIBUTES, ...attributes } },
});

test("what runs as planned has no difference", () => {
  expect(textsOf({})).toEqual([]);
});

describe("a difference names resource, setting and both values", () => {
  test.each<[Record<string, string | undefined>, string]>([
    [{ VisibilityTimeout: "30" }, "queue orders-events: VisibilityTimeout 60 -> 30"],
    [{ RedrivePolicy: undefined }, "queue orders-events: maxReceiveCount 25 -> missing"],
    [{ SqsManagedSseEnabled: "false" }, "queue orders-events: encryption SSE-SQS -> none"],
    [
      { KmsMasterKeyId: "alias/aws/sqs" },
      "queue orders-events: encryption SSE-SQS -> alias/aws/sqs, which S3 and SNS cannot use",
    ],
    [{ Policy: policyOf(allowTopic(QUEUE)) }, "queue orders-events: plain HTTP denied -> possible"],
    [
      { Policy: policyOf(deny("sqs:*", QUEUE)) },
      "queue orders-events: messages of the topic allowed -> refused",
    ],
    [
      { Policy: policyOf(deny("sqs:*", QUEUE), allowTopic(QUEUE, "arn:aws:sns:*:*:*")) },
      "queue orders-events: messages of other topics refused -> allowed",
    ],
  ])("%j", (attributes, text) => {
    expect(textsOf(queueWith(attributes))).toContain(text);
  });

  test("a queue in another account", () => {
    const queue = "https://sqs.eu-west-1.amazonaws.com/444455556666/orders-events";
    expect(textsOf({}, planInfra({ ...FACTS, queue }))).toEqual([
      "queue orders-events: account 444455556666 -> 111122223333",
    ]);
  });

  test("on the dead-letter queue", () => {
    const attributes = { ...DEAD_ATTRIBUTES, MessageRetentionPeriod: "345600" };
    expect(textsOf({ deadLetterQueue: { arn: DEAD, attributes } })).toEqual([
      "dead-letter queue orders-dead-letters: MessageRetentionPeriod 1209600 -> 345600",
    ]);
  });

  test("on topic and bucket", () => {
    const topic = { arn: TOPIC, attributes: {}, subscribers: [], subscription: {} };
    expect(textsOf({ topic })).toEqual([
      "topic orders-objects: subscriber orders-events -> missing",
      "topic orders-objects: plain HTTP denied -> possible",
    ]);
    const { attributes } = LIVE.topic ?? { attributes: {} };
    expect(textsOf({ topic: { ...topic, attributes, subscribers: [QUEUE] } })).toEqual([
      "topic orders-objects: raw delivery true -> missing",
      "topic orders-objects: queue of undelivered messages orders-dead-letters -> missing",
    ]);
    const open = { ...BUCKET, encryption: "aws:kms", ownership: undefined };
    expect(textsOf({ bucket: open })).toEqual([
      "bucket acme-orders: encryption AES256 -> aws:kms",
      "bucket acme-orders: ownership BucketOwnerEnforced -> missing",
    ]);
    const bucket = { ...BUCKET, versioned: false, notifications: [] };
    expect(textsOf({ bucket })).toEqual([
      "bucket acme-orders: versioning Enabled -> off",
      "bucket acme-orders: events sent to topic -> missing",
    ]);
    const [rule] = BUCKET.notifications;
    const other = { ...BUCKET, notifications: [{ ...rule, prefix: "", suffix: ".csv" }] };
    expect(textsOf({ bucket: other as typeof BUCKET })).toEqual([
      "bucket acme-orders: prefix of events in/ -> ",
      "bucket acme-orders: suffix of events  -> .csv",
    ]);
  });

  test("on tables, but backups only where the service tells", () => {
    const bare = { keys: ["pk HASH"], indexes: {}, ttlAttribute: null };
    expect(textsOf({ ledgerTable: { ...bare, backedUp: null } })).toEqual([
      "table orders-ledger: index notes np HASH, nm RANGE -> missing",
      "table orders-ledger: time to live ttl -> off",
    ]);
    expect(textsOf({ ledgerTable: { ...bare, backedUp: false } })).toHaveLength(3);
  });

  test("for what does not exist", () => {
    expect(textsOf({ queue: null, bucket: null })).toEqual(
      expect.arrayContaining([
        "queue orders-events: existence exists -> missing",
        "bucket acme-orders: existence exists -> missing",
      ]),
    );
  });
});

test("a bucket that sends to the queue itself is compared with the queue's policy", () => {
  const direct = planInfra(FACTS, { via: "queue" });
  const bucketArn = "arn:aws:s3:::acme-orders";
  const allow = {
    Effect: "Allow",
    Principal: { Service: "s3.amazonaws.com" },
    Action: "sqs:SendMessage",
    Resource: QUEUE,
    Condition: {
      ArnEquals: { "aws:SourceArn": bucketArn },
      StringEquals: { "aws:SourceAccount": "111122223333" },
    },
  };
  const [rule] = BUCKET.notifications;
  const bucket = { ...BUCKET, notifications: [{ ...rule, targetArn: QUEUE }] } as typeof BUCKET;
  const right = queueWith({ Policy: policyOf(deny("sqs:*", QUEUE), allow) });
  expect(textsOf({ ...right, bucket, topic: null }, direct)).toEqual([]);
  expect(textsOf({ bucket, topic: null }, direct)).toEqual([
    "queue orders-events: events of the bucket allowed -> refused",
  ]);
});
