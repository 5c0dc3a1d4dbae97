import type { Event, NotificationConfiguration } from "@aws-sdk/client-s3";
import { expect, test } from "vitest";
import {
  ACCOUNT,
  ETAG_OF_NOTHING,
  type EventQueue,
  s3FailureOf,
  useBuckets,
} from "../../support/s3-buckets.ts";

const buckets = useBuckets({ eventBridgeQueue: "bridge" });

const EVERYTHING: Event[] = ["s3:ObjectCreated:*", "s3:ObjectRemoved:*", "s3:ObjectTagging:*"];

function configure(Bucket: string, NotificationConfiguration: NotificationConfiguration) {
  return buckets.s3.putBucketNotificationConfiguration({ Bucket, NotificationConfiguration });
}

/** Sends all events of a bucket to a new queue and removes its test event. */
async function observe(Bucket: string, events = EVERYTHING): Promise<EventQueue> {
  const queue = await buckets.queue();
  const QueueConfigurations = [{ Id: "all", QueueArn: queue.arn, Events: events }];
  await configure(Bucket, { QueueConfigurations });
  await buckets.drain(queue);
  return queue;
}

test("[108][109] a record equals AWS's, field by field", async () => {
  const Bucket = await buckets.bucket();
  const queue = await observe(Bucket);
  const put = await buckets.s3.putObject({ Bucket, Key: "a b/ü+.txt", Body: "hello" });
  const [message] = await buckets.drain(queue);
  expect(message).toEqual({
    Records: [
      {
        eventVersion: "2.6",
        eventSource: "aws:s3",
        awsRegion: "us-east-1",
        eventTime: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
        eventName: "ObjectCreated:Put",
        userIdentity: { principalId: expect.stringMatching(/^AWS:AIDA[A-Z2-7]{17}$/) },
        requestParameters: { sourceIPAddress: "127.0.0.1" },
        responseElements: {
          "x-amz-request-id": put.$metadata.requestId,
          "x-amz-id-2": put.$metadata.extendedRequestId,
        },
        s3: {
          s3SchemaVersion: "1.0",
          configurationId: "all",
          bucket: {
            name: Bucket,
            ownerIdentity: { principalId: expect.stringMatching(/^A[0-9A-F]{13}$/) },
            arn: `arn:aws:s3:::${Bucket}`,
          },
          object: {
            key: "a+b/%C3%BC%2B.txt",
            size: 5,
            eTag: "5d41402abc4b2a76b9719d911017c592",
            sequencer: expect.stringMatching(/^[0-9A-F]{18}$/),
          },
        },
      },
    ],
  });
});

test("[110] the event of a copy is ObjectCreated:Copy with hasObjectAnnotation false", async () => {
  const Bucket = await buckets.bucket();
  await buckets.s3.putObject({ Bucket, Key: "from", Body: "hello" });
  const queue = await observe(Bucket);
  await buckets.s3.copyObject({ Bucket, Key: "to", CopySource: `${Bucket}/from` });
  const [message] = await buckets.drain(queue);
  expect(message.Records[0]).toMatchObject({
    eventName: "ObjectCreated:Copy",
    s3: { object: { key: "to", size: 5, hasObjectAnnotation: false } },
  });
});

test("[111] events of deletes, markers and tags have exactly the fields of AWS", async () => {
  const Bucket = await buckets.versioned();
  const queue = await observe(Bucket);
  const { VersionId } = await buckets.s3.putObject({ Bucket, Key: "k", Body: "x" });
  const Tagging = { TagSet: [{ Key: "a", Value: "b" }] };
  await buckets.s3.putObjectTagging({ Bucket, Key: "k", Tagging });
  await buckets.s3.deleteObjectTagging({ Bucket, Key: "k" });
  const marker = await buckets.s3.deleteObject({ Bucket, Key: "k" });
  await buckets.s3.deleteObject({ Bucket, Key: "k", VersionId });
  const shown = (await buckets.drain(queue)).map(({ Records: [record] }) => [
    record.eventName,
    record.s3.object,
  ]);
  const sequencer = expect.any(String);
  const eTag = "9dd4e461268c8034f5c8564e155c67a6";
  expect(shown).toEqual([
    ["ObjectCreated:Put", { key: "k", size: 1, eTag, versionId: VersionId, sequencer }],
    ["ObjectTagging:Put", { key: "k", eTag, versionId: VersionId }],
    ["ObjectTagging:Delete", { key: "k", eTag, versionId: VersionId }],
    [
      "ObjectRemoved:DeleteMarkerCreated",
      { key: "k", eTag: ETAG_OF_NOTHING, versionId: marker.VersionId, sequencer },
    ],
    ["ObjectRemoved:Delete", { key: "k", versionId: VersionId, sequencer }],
  ]);
});

test("[112] a null version has no versionId in its event, suspended or never versioned", async () => {
  const Bucket = await buckets.versioned();
  const VersioningConfiguration = { Status: "Suspended" as const };
  await buckets.s3.putBucketVersioning({ Bucket, VersioningConfiguration });
  const queue = await observe(Bucket);
  await buckets.s3.putObject({ Bucket, Key: "k", Body: "x" });
  await buckets.s3.deleteObject({ Bucket, Key: "k" });
  const objects = (await buckets.drain(queue)).map(({ Records: [record] }) => record.s3.object);
  expect(objects.map((object) => "versionId" in object)).toEqual([false, false]);
});

test.each([
  ["red flower.jpg", "red+flower.jpg"],
  ["a/b//c", "a/b//c"],
  ["me@home+you=1&2", "me%40home%2Byou%3D1%262"],
  ["100%", "100%25"],
  ["(a)*!'~", "%28a%29*%21%27%7E"],
  ["日本/🌊", "%E6%97%A5%E6%9C%AC/%F0%9F%8C%8A"],
])(
  "[113] the key %j is %j in its S3 event and raw in its EventBridge event",
  async (Key, encoded) => {
    const Bucket = await buckets.bucket();
    const queue = await buckets.queue();
    const bridge = await bridgeQueue();
    const QueueConfigurations = [{ QueueArn: queue.arn, Events: EVERYTHING }];
    await configure(Bucket, { QueueConfigurations, EventBridgeConfiguration: {} });
    await buckets.drain(queue);
    await buckets.s3.putObject({ Bucket, Key, Body: "x" });
    const [message] = await buckets.drain(queue);
    expect(message.Records[0].s3.object.key).toBe(encoded);
    const [bridged] = await buckets.drain(bridge);
    expect(bridged.detail.object.key).toBe(Key);
  },
);

async function bridgeQueue(): Promise<EventQueue> {
  const { QueueUrl = "" } = await buckets.sqs.createQueue({ QueueName: "bridge" });
  const queue = { url: QueueUrl, arn: `arn:aws:sqs:us-east-1:${ACCOUNT}:bridge` };
  await buckets.drain(queue);
  return queue;
}

test("[114] filters match the raw key, and their names are returned capitalized", async () => {
  const Bucket = await buckets.bucket();
  const queue = await buckets.queue();
  const FilterRules = [
    { Name: "PREFIX" as "prefix", Value: "in put/" },
    { Name: "suffix" as const, Value: ".csv" },
  ];
  const rule = { QueueArn: queue.arn, Events: EVERYTHING, Filter: { Key: { FilterRules } } };
  await configure(Bucket, { QueueConfigurations: [rule] });
  await buckets.drain(queue);
  for (const Key of ["in put/a.csv", "in put/a.txt", "in+put/a.csv", "out/a.csv"]) {
    await buckets.s3.putObject({ Bucket, Key, Body: "x" });
  }
  const keys = (await buckets.drain(queue)).map(({ Records: [r] }) => r.s3.object.key);
  expect(keys).toEqual(["in+put/a.csv"]);
  const shown = await buckets.s3.getBucketNotificationConfiguration({ Bucket });
  expect(shown.QueueConfigurations?.[0]?.Filter?.Key?.FilterRules).toEqual([
    { Name: "Prefix", Value: "in put/" },
    { Name: "Suffix", Value: ".csv" },
  ]);
});

test("[114] a rule with an empty value matches every key; one without a value is malformed", async () => {
  const Bucket = await buckets.bucket();
  const queue = await buckets.queue();
  const document = (rule: string) =>
    `<NotificationConfiguration><QueueConfiguration><Queue>${queue.arn}</Queue>` +
    `<Event>s3:ObjectCreated:*</Event><Filter><S3Key><FilterRule>${rule}</FilterRule></S3Key>` +
    "</Filter></QueueConfiguration></NotificationConfiguration>";
  const put = (rule: string) =>
    buckets.raw("PUT", `/${Bucket}?notification`, { body: document(rule) });
  expect((await put("<Name>prefix</Name>")).code).toBe("MalformedXML");
  expect((await put("<Name>infix</Name><Value>a</Value>")).code).toBe("InvalidArgument");
  expect((await put("<Name>prefix</Name><Value></Value>")).status).toBe(200);
  await buckets.drain(queue);
  await buckets.s3.putObject({ Bucket, Key: "any", Body: "x" });
  expect(await buckets.drain(queue)).toHaveLength(1);
});

test("[115] sequencers of a key increase with each put and delete", async () => {
  const Bucket = await buckets.bucket();
  const queue = await observe(Bucket);
  for (let round = 0; round < 10; round += 1) {
    await buckets.s3.putObject({ Bucket, Key: "k", Body: `${round}` });
    await buckets.s3.deleteObject({ Bucket, Key: "k" });
  }
  const records = (await buckets.drain(queue)).map(({ Records: [record] }) => record);
  const shown = records.map((record) => record.s3.object.sequencer);
  expect(new Set(shown).size).toBe(20);
  expect(shown).toEqual(shown.toSorted());
});

test("[116] a new destination gets a test event; an existing one does not get another", async () => {
  const Bucket = await buckets.bucket();
  const [first, second] = [await buckets.queue(), await buckets.queue()];
  const to = (queue: EventQueue, Event: Event) => ({ QueueArn: queue.arn, Events: [Event] });
  const put = await configure(Bucket, {
    QueueConfigurations: [to(first, "s3:ObjectCreated:Put")],
  });
  expect(await buckets.drain(first)).toEqual([
    {
      Service: "Amazon S3",
      Event: "s3:TestEvent",
      Time: expect.stringMatching(/^\d{4}-.*\.\d{3}Z$/),
      Bucket,
      RequestId: put.$metadata.requestId,
      HostId: put.$metadata.extendedRequestId,
    },
  ]);
  const QueueConfigurations = [
    to(first, "s3:ObjectCreated:Put"),
    to(second, "s3:ObjectRemoved:Delete"),
  ];
  await configure(Bucket, { QueueConfigurations });
  expect(await buckets.drain(first)).toHaveLength(0);
  expect(await buckets.drain(second)).toHaveLength(1);
});

test("[117] an invalid ARN and a missing queue are refused", async () => {
  const Bucket = await buckets.bucket();
  const refused = (QueueArn: string) =>
    s3FailureOf(configure(Bucket, { QueueConfigurations: [{ QueueArn, Events: EVERYTHING }] }));
  expect(await refused("not-an-arn")).toMatchObject({
    code: "InvalidArgument",
    status: 400,
    message: "The ARN could not be parsed",
    fields: { ArgumentName: "Queue", ArgumentValue: "not-an-arn" },
  });
  const missing = `arn:aws:sqs:us-east-1:${ACCOUNT}:nowhere`;
  expect(await refused(missing)).toMatchObject({
    code: "InvalidArgument",
    message: "Unable to validate the following destination configurations",
    fields: {
      ArgumentName1: missing,
      ArgumentValue1: "The destination queue does not exist",
    },
  });
  const NotificationConfiguration = {
    QueueConfigurations: [{ QueueArn: missing, Events: EVERYTHING }],
  };
  await buckets.s3.putBucketNotificationConfiguration({
    Bucket,
    NotificationConfiguration,
    SkipDestinationValidation: true,
  });
  const shown = await buckets.s3.getBucketNotificationConfiguration({ Bucket });
  expect(shown.QueueConfigurations).toHaveLength(1);
});

test("[117] FIFO queues, missing topics and unknown events are refused", async () => {
  const Bucket = await buckets.bucket();
  const Attributes = { FifoQueue: "true" };
  await buckets.sqs.createQueue({ QueueName: "target.fifo", Attributes });
  const fifo = `arn:aws:sqs:us-east-1:${ACCOUNT}:target.fifo`;
  const queues = (QueueArn: string, Events: Event[]) =>
    s3FailureOf(configure(Bucket, { QueueConfigurations: [{ QueueArn, Events }] }));
  expect(await queues(fifo, EVERYTHING)).toMatchObject({
    code: "InvalidArgument",
    message: "FIFO SQS queues are not supported.",
  });
  const { arn } = await buckets.queue();
  expect(await queues(arn, ["s3:Nothing" as Event])).toMatchObject({
    code: "InvalidArgument",
    message: "The event is not supported for notifications",
  });
  const TopicArn = `arn:aws:sns:us-east-1:${ACCOUNT}:nowhere`;
  const topic = configure(Bucket, { TopicConfigurations: [{ TopicArn, Events: EVERYTHING }] });
  expect((await s3FailureOf(topic)).fields).toMatchObject({
    ArgumentName1: TopicArn,
    ArgumentValue1: "The destination topic does not exist",
  });
  const shown = await buckets.s3.getBucketNotificationConfiguration({ Bucket });
  expect(shown.QueueConfigurations).toBeUndefined();
});

test("[117] rules that could match the same key for the same event are refused", async () => {
  const Bucket = await buckets.bucket();
  const { arn: QueueArn } = await buckets.queue();
  const rule = (Event: Event, prefix?: string, suffix?: string) => {
    const FilterRules = [
      ...(prefix === undefined ? [] : [{ Name: "prefix" as const, Value: prefix }]),
      ...(suffix === undefined ? [] : [{ Name: "suffix" as const, Value: suffix }]),
    ];
    return { QueueArn, Events: [Event], Filter: { Key: { FilterRules } } };
  };
  const put = (...QueueConfigurations: ReturnType<typeof rule>[]) =>
    configure(Bucket, { QueueConfigurations });
  const overlap = await s3FailureOf(put(rule("s3:ObjectCreated:*"), rule("s3:ObjectCreated:Put")));
  expect(overlap).toMatchObject({ code: "InvalidArgument", status: 400 });
  expect(overlap.message).toContain("cannot share a common event type");
  const nested = put(rule("s3:ObjectCreated:*", "a/"), rule("s3:ObjectCreated:Put", "a/b"));
  expect((await s3FailureOf(nested)).message).toContain("ambiguously defined");
  const suffixes = put(
    rule("s3:ObjectCreated:*", "a/", ".gz"),
    rule("s3:ObjectCreated:*", "a/", "r.gz"),
  );
  expect((await s3FailureOf(suffixes)).message).toContain("ambiguously defined");
  await put(
    rule("s3:ObjectCreated:*", "a/", ".jpg"),
    rule("s3:ObjectCreated:*", "a/", ".png"),
    rule("s3:ObjectCreated:*", "b/"),
    rule("s3:ObjectRemoved:*", "a/"),
  );
});

test("[118] no configuration is an empty document, ids are generated, and an empty one clears", async () => {
  const Bucket = await buckets.bucket();
  const raw = await buckets.raw("GET", `/${Bucket}?notification`);
  expect(raw.body).toMatch(/<NotificationConfiguration xmlns="[^"]+"><\/Notification/);
  const { arn: QueueArn } = await buckets.queue();
  await configure(Bucket, { QueueConfigurations: [{ QueueArn, Events: EVERYTHING }] });
  const shown = await buckets.s3.getBucketNotificationConfiguration({ Bucket });
  expect(shown.QueueConfigurations?.[0]?.Id).toMatch(/^[0-9a-f-]{36}$/);
  await configure(Bucket, {});
  const cleared = await buckets.s3.getBucketNotificationConfiguration({ Bucket });
  expect(cleared.QueueConfigurations).toBeUndefined();
});

test("[119] DeleteObjects emits one event per key, and none for keys that did not exist", async () => {
  const Bucket = await buckets.bucket();
  for (const Key of ["a", "b"]) await buckets.s3.putObject({ Bucket, Key, Body: "x" });
  const queue = await observe(Bucket, ["s3:ObjectRemoved:*"]);
  const Objects = ["a", "b", "never was"].map((Key) => ({ Key }));
  const gone = await buckets.s3.deleteObjects({ Bucket, Delete: { Objects } });
  expect(gone.Deleted).toHaveLength(3);
  const messages = await buckets.drain(queue);
  expect(messages.map(({ Records }) => Records.length)).toEqual([1, 1]);
  expect(messages.map(({ Records: [r] }) => r.s3.object.key)).toEqual(["a", "b"]);
});

test("[121] EventBridge gets the puts and deletes of a bucket that has it enabled", async () => {
  const Bucket = await buckets.versioned();
  const bridge = await bridgeQueue();
  await buckets.s3.putObject({ Bucket, Key: "before", Body: "x" });
  await configure(Bucket, { EventBridgeConfiguration: {} });
  const shown = await buckets.s3.getBucketNotificationConfiguration({ Bucket });
  expect(shown.EventBridgeConfiguration).toEqual({});
  const put = await buckets.s3.putObject({ Bucket, Key: "k", Body: "hello" });
  const marker = await buckets.s3.deleteObject({ Bucket, Key: "k" });
  await buckets.s3.deleteObject({ Bucket, Key: "k", VersionId: put.VersionId });
  const [created, marked, deleted] = await buckets.drain(bridge);
  expect(created).toEqual({
    version: "0",
    id: expect.stringMatching(/^[0-9a-f-]{36}$/),
    "detail-type": "Object Created",
    source: "aws.s3",
    account: ACCOUNT,
    time: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/),
    region: "us-east-1",
    resources: [`arn:aws:s3:::${Bucket}`],
    detail: {
      version: "0",
      bucket: { name: Bucket },
      object: {
        key: "k",
        size: 5,
        etag: "5d41402abc4b2a76b9719d911017c592",
        "version-id": put.VersionId,
        sequencer: expect.any(String),
      },
      "request-id": put.$metadata.requestId,
      requester: ACCOUNT,
      "source-ip-address": "127.0.0.1",
      reason: "PutObject",
    },
  });
  expect(marked).toMatchObject({
    "detail-type": "Object Deleted",
    detail: {
      reason: "DeleteObject",
      "deletion-type": "Delete Marker Created",
      object: { key: "k", "version-id": marker.VersionId },
    },
  });
  expect(deleted.detail["deletion-type"]).toBe("Permanently Deleted");
});
