import { expect, test } from "vitest";
import { type Attributes, arnOf, failureOf, useEndpoint } from "../../support/endpoint.ts";

const endpoint = useEndpoint();

const policy = (target: string, maxReceiveCount: unknown = 1) =>
  JSON.stringify({ deadLetterTargetArn: arnOf(target), maxReceiveCount });

const set = (QueueUrl: string, Attributes: Record<string, string>) =>
  endpoint.sqs.setQueueAttributes({ QueueUrl, Attributes });

/** A queue and its dead-letter queue, with a maximum of one receive. */
async function createPair(fifo: boolean, attributes: Attributes = {}) {
  const create = fifo ? endpoint.fifo : endpoint.queue;
  const target = await create(attributes);
  const source = await create({ RedrivePolicy: policy(target) });
  return { source, target };
}

async function take(QueueUrl: string, VisibilityTimeout = 0) {
  const { Messages } = await endpoint.sqs.receiveMessage({
    QueueUrl,
    VisibilityTimeout,
    MaxNumberOfMessages: 10,
    MessageAttributeNames: ["All"],
    MessageSystemAttributeNames: ["All"],
  });
  return Messages ?? [];
}

test("[34] a redrive policy is returned with its count as a number, however it was set", async () => {
  const target = await endpoint.queue();
  const source = await endpoint.queue({ RedrivePolicy: policy(target, "42") });
  expect(await endpoint.attribute(source, "RedrivePolicy")).toBe(
    `{"deadLetterTargetArn":"${arnOf(target)}","maxReceiveCount":42}`,
  );
});

test("[34] a redrive policy must be complete, in range, and name a queue of the same type", async () => {
  const source = await endpoint.queue();
  const target = await endpoint.queue();
  const fifo = await endpoint.fifo();
  const deadLetterTargetArn = arnOf(target);
  const policies = [
    "nonsense",
    "[]",
    JSON.stringify({ maxReceiveCount: 1 }),
    JSON.stringify({ deadLetterTargetArn }),
    ...["x", 0, 1_001, 1.5, ""].map((count) => policy(target, count)),
    policy(fifo),
    policy("/000000000000/nowhere"),
    JSON.stringify({ deadLetterTargetArn: "no ARN", maxReceiveCount: 1 }),
  ];
  for (const RedrivePolicy of policies) {
    const failure = await failureOf(set(source, { RedrivePolicy }));
    expect([RedrivePolicy, failure.code]).toEqual([RedrivePolicy, "InvalidParameterValue"]);
  }
  expect(await endpoint.attribute(source, "RedrivePolicy")).toBeUndefined();
  for (const count of [1, 1_000]) await set(source, { RedrivePolicy: policy(target, count) });
});

test("[34] a queue may be its own dead-letter queue", async () => {
  const queueUrl = await endpoint.queue();
  await set(queueUrl, { RedrivePolicy: policy(queueUrl, 5) });
  expect(await endpoint.attribute(queueUrl, "RedrivePolicy")).toBe(policy(queueUrl, 5));
});

const allow = (redrivePermission: string, sourceQueueArns?: string[]) =>
  JSON.stringify({ redrivePermission, ...(sourceQueueArns && { sourceQueueArns }) });

test("[35] an allow policy is checked when a source sets its redrive policy", async () => {
  const friend = await endpoint.queue();
  const stranger = await endpoint.queue();
  const target = await endpoint.queue();
  const may = async (source: string) => {
    const [outcome] = await Promise.allSettled([set(source, { RedrivePolicy: policy(target) })]);
    return outcome.status === "fulfilled" || (outcome.reason.Code as string);
  };
  expect([await may(friend), await may(stranger)]).toEqual([true, true]);
  await set(target, { RedriveAllowPolicy: allow("byQueue", [arnOf(friend)]) });
  expect([await may(friend), await may(stranger)]).toEqual([true, "InvalidParameterValue"]);
  await set(target, { RedriveAllowPolicy: allow("denyAll") });
  expect(await may(friend)).toBe("InvalidParameterValue");
  await set(target, { RedriveAllowPolicy: allow("allowAll") });
  expect([await may(friend), await may(stranger)]).toEqual([true, true]);
});

test("[35] an allow policy names 1 to 10 sources with byQueue, and none otherwise", async () => {
  const queueUrl = await endpoint.queue();
  const arns = Array.from({ length: 11 }, (_, i) => `${arnOf(queueUrl)}-${i}`);
  const wrong = [
    allow("byQueue"),
    allow("byQueue", []),
    allow("byQueue", arns),
    allow("allowAll", arns.slice(0, 1)),
    allow("somebody"),
    "nonsense",
  ];
  for (const RedriveAllowPolicy of wrong) {
    const failure = await failureOf(set(queueUrl, { RedriveAllowPolicy }));
    expect([RedriveAllowPolicy, failure.code]).toEqual([
      RedriveAllowPolicy,
      "InvalidParameterValue",
    ]);
  }
  await set(queueUrl, { RedriveAllowPolicy: allow("byQueue", arns.slice(0, 10)) });
});

test("[35] an allow policy is returned in one form, whatever spaces or nulls it was set with", async () => {
  const queueUrl = await endpoint.queue();
  const RedriveAllowPolicy = '{ "sourceQueueArns": null, "redrivePermission": "denyAll" }';
  await set(queueUrl, { RedriveAllowPolicy });
  expect(await endpoint.attribute(queueUrl, "RedriveAllowPolicy")).toBe(allow("denyAll"));
  await set(queueUrl, { RedriveAllowPolicy: "" });
  expect(await endpoint.attribute(queueUrl, "RedriveAllowPolicy")).toBeUndefined();
});

test("[80] the receive that would exceed the count moves the message; the timeout does not", async () => {
  const { source, target } = await createPair(false);
  await endpoint.sqs.sendMessage({ QueueUrl: source, MessageBody: "x" });
  expect(await take(source, 5)).toHaveLength(1);
  await endpoint.pass(60);
  expect(await take(target)).toEqual([]); // Its timeout is over, but no receive came.
  expect(await take(source)).toEqual([]);
  expect(await take(target)).toHaveLength(1);
});

test("[80] a receive that moves dead letters still returns the messages behind them", async () => {
  const { source, target } = await createPair(false);
  await endpoint.sqs.sendMessage({ QueueUrl: source, MessageBody: "dead" });
  await take(source);
  await endpoint.sqs.sendMessage({ QueueUrl: source, MessageBody: "alive" });
  expect((await take(source)).map(({ Body }) => Body)).toEqual(["alive"]);
  expect((await take(target)).map(({ Body }) => Body)).toEqual(["dead"]);
});

test("[80] a long poll on the dead-letter queue ends with a message that is moved there", async () => {
  const { source, target } = await createPair(false);
  await endpoint.sqs.sendMessage({ QueueUrl: source, MessageBody: "x" });
  await take(source);
  const request = { QueueUrl: target, WaitTimeSeconds: 20 };
  const poll = await endpoint.inFlight(() => endpoint.sqs.receiveMessage(request));
  await take(source);
  expect((await poll.answer).Messages).toMatchObject([{ Body: "x" }]);
});

test("[43][81] a dead letter keeps its content and has the ARN of its source", async () => {
  const { source, target } = await createPair(false);
  const MessageAttributes = { colour: { DataType: "String", StringValue: "blue" } };
  const trace = { DataType: "String", StringValue: "Root=1-5759e988" };
  const sent = await endpoint.sqs.sendMessage({
    QueueUrl: source,
    MessageBody: "x",
    MessageAttributes,
    MessageSystemAttributes: { AWSTraceHeader: trace },
  });
  const [alive] = await take(source);
  await endpoint.pass(1);
  await take(source);
  const [dead] = await take(target);
  expect(dead).toMatchObject({ MessageId: sent.MessageId, Body: "x", MessageAttributes });
  expect(dead!.MD5OfMessageAttributes).toBe(sent.MD5OfMessageAttributes);
  expect(dead!.Attributes).toEqual({
    ...alive!.Attributes,
    AWSTraceHeader: trace.StringValue,
    ApproximateReceiveCount: "2",
    DeadLetterQueueSourceArn: arnOf(source),
  });
});

test("[82] a standard dead letter's age counts from when it was first sent", async () => {
  const { source, target } = await createPair(false, { MessageRetentionPeriod: "100" });
  await endpoint.sqs.sendMessage({ QueueUrl: source, MessageBody: "x" });
  await take(source);
  await endpoint.pass(60);
  await take(source);
  await endpoint.pass(39.999);
  expect(await take(target)).toHaveLength(1);
  await endpoint.pass(0.001);
  expect(await take(target)).toEqual([]);
});

const ids = { MessageGroupId: "g", MessageDeduplicationId: "id" };

test("[82] the age of a FIFO dead letter restarts", async () => {
  const { source, target } = await createPair(true, { MessageRetentionPeriod: "100" });
  await endpoint.sqs.sendMessage({ QueueUrl: source, MessageBody: "x", ...ids });
  await take(source);
  await endpoint.pass(60);
  await take(source);
  await endpoint.pass(99.999);
  expect(await take(target)).toHaveLength(1);
  await endpoint.pass(0.001);
  expect(await take(target)).toEqual([]);
});

test("[83] a FIFO dead letter is not a duplicate: its deduplication id is its message id", async () => {
  const { source, target } = await createPair(true);
  await endpoint.sqs.sendMessage({ QueueUrl: target, MessageBody: "there already", ...ids });
  const sent = await endpoint.sqs.sendMessage({ QueueUrl: source, MessageBody: "x", ...ids });
  await take(source);
  await take(source);
  const [, dead] = await take(target);
  expect(dead).toMatchObject({ MessageId: sent.MessageId, Body: "x" });
  const { MessageDeduplicationId, MessageGroupId, SequenceNumber } = dead!.Attributes!;
  expect([MessageDeduplicationId, MessageGroupId]).toEqual([sent.MessageId, "g"]);
  expect(SequenceNumber! > sent.SequenceNumber!).toBe(true);
});

test("the sources of a dead-letter queue are listed, in pages if requested", async () => {
  const target = await endpoint.queue();
  const none = await endpoint.json("ListDeadLetterSourceQueues", { QueueUrl: target });
  expect(none.body).toBe("{}");
  const sources: string[] = [];
  for (let i = 0; i < 3; i += 1) {
    sources.push(await endpoint.queue({ RedrivePolicy: policy(target) }));
  }
  const all = await endpoint.sqs.listDeadLetterSourceQueues({ QueueUrl: target });
  expect(all.queueUrls!.toSorted()).toEqual(sources.toSorted());
  const page = { QueueUrl: target, MaxResults: 2 };
  const first = await endpoint.sqs.listDeadLetterSourceQueues(page);
  const { NextToken } = first;
  const second = await endpoint.sqs.listDeadLetterSourceQueues({ ...page, NextToken });
  expect([first.queueUrls!.length, second.queueUrls!.length]).toEqual([2, 1]);
  expect(second.NextToken).toBeUndefined();
});
