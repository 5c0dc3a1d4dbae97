import { expect, test } from "vitest";
import { arnOf, failureOf, useEndpoint } from "../../support/endpoint.ts";

const endpoint = useEndpoint();

const set = (QueueUrl: string, Attributes: Record<string, string>) =>
  endpoint.sqs.setQueueAttributes({ QueueUrl, Attributes });

async function all(QueueUrl: string): Promise<Record<string, string>> {
  const { Attributes } = await endpoint.sqs.getQueueAttributes({
    QueueUrl,
    AttributeNames: ["All"],
  });
  return Attributes as Record<string, string>;
}

test.each([
  ["VisibilityTimeout", 0, 43_200, "30"],
  ["DelaySeconds", 0, 900, "0"],
  ["MaximumMessageSize", 1_024, 1_048_576, "1048576"],
  ["MessageRetentionPeriod", 60, 1_209_600, "345600"],
  ["ReceiveMessageWaitTimeSeconds", 0, 20, "0"],
])("[29] %s ranges from %d to %d, with default %s", async (name, min, max, fallback) => {
  const queueUrl = await endpoint.queue();
  expect(await endpoint.attribute(queueUrl, name)).toBe(fallback);
  for (const value of [min, max]) {
    await set(queueUrl, { [name]: String(value) });
    expect(await endpoint.attribute(queueUrl, name)).toBe(String(value));
  }
  for (const value of [String(min - 1), String(max + 1), "", "x", "1.5"]) {
    const failure = await failureOf(set(queueUrl, { [name]: value }));
    expect([value, failure.code]).toEqual([value, "InvalidAttributeValue"]);
  }
  expect(await endpoint.attribute(queueUrl, name)).toBe(String(max)); // Refusals change nothing.
});

test("[29] KmsDataKeyReusePeriodSeconds ranges from 60 to 86400", async () => {
  const queueUrl = await endpoint.queue({ KmsMasterKeyId: "alias/mine" });
  for (const value of ["60", "86400"]) {
    await set(queueUrl, { KmsDataKeyReusePeriodSeconds: value });
    expect(await endpoint.attribute(queueUrl, "KmsDataKeyReusePeriodSeconds")).toBe(value);
  }
  for (const value of ["59", "86401"]) {
    const failure = await failureOf(set(queueUrl, { KmsDataKeyReusePeriodSeconds: value }));
    expect(failure.code).toBe("InvalidAttributeValue");
  }
});

test("[30] All returns a standard queue's attributes with their defaults, as strings", async () => {
  const queueUrl = await endpoint.queue();
  const now = String(Math.floor(endpoint.cloud.clock.now() / 1_000));
  expect(await all(queueUrl)).toEqual({
    ApproximateNumberOfMessages: "0",
    ApproximateNumberOfMessagesDelayed: "0",
    ApproximateNumberOfMessagesNotVisible: "0",
    CreatedTimestamp: now,
    DelaySeconds: "0",
    LastModifiedTimestamp: now,
    MaximumMessageSize: "1048576",
    MessageRetentionPeriod: "345600",
    QueueArn: arnOf(queueUrl),
    ReceiveMessageWaitTimeSeconds: "0",
    SqsManagedSseEnabled: "true",
    VisibilityTimeout: "30",
  });
});

test("[30] All returns four more attributes on a FIFO queue", async () => {
  const standard = Object.keys(await all(await endpoint.queue()));
  const shown = await all(await endpoint.fifo());
  const more = Object.entries(shown).filter(([name]) => !standard.includes(name));
  expect(Object.fromEntries(more)).toEqual({
    FifoQueue: "true",
    ContentBasedDeduplication: "false",
    DeduplicationScope: "queue",
    FifoThroughputLimit: "perQueue",
  });
});

test("[30] setting attributes also changes LastModifiedTimestamp and nothing else", async () => {
  const queueUrl = await endpoint.queue();
  const before = await all(queueUrl);
  await endpoint.pass(5);
  await set(queueUrl, { VisibilityTimeout: "7" });
  const modified = String(Number(before.CreatedTimestamp) + 5);
  const expected = { ...before, VisibilityTimeout: "7", LastModifiedTimestamp: modified };
  expect(await all(queueUrl)).toEqual(expected);
});

test("[31] an empty list of names requests no attributes; an unknown one is refused", async () => {
  const QueueUrl = await endpoint.queue();
  const ask = (AttributeNames?: string[]) =>
    endpoint.sqs.getQueueAttributes({ QueueUrl, AttributeNames: AttributeNames as never });
  expect((await ask()).Attributes).toBeUndefined();
  expect((await ask([])).Attributes).toBeUndefined();
  expect((await ask(["QueueArn", "DelaySeconds"])).Attributes).toEqual({
    QueueArn: arnOf(QueueUrl),
    DelaySeconds: "0",
  });
  expect(await failureOf(ask(["QueueArn", "Foobar"]))).toMatchObject({
    code: "InvalidAttributeName",
    message: "Unknown Attribute Foobar.",
  });
});

test("[32] an empty value removes a policy", async () => {
  const target = await endpoint.queue();
  const queueUrl = await endpoint.queue();
  const Policy = '{"Version":"2012-10-17","Statement":[]}';
  const RedrivePolicy = JSON.stringify({ deadLetterTargetArn: arnOf(target), maxReceiveCount: 3 });
  await set(queueUrl, { Policy, RedrivePolicy });
  expect(await all(queueUrl)).toMatchObject({ Policy, RedrivePolicy });
  await set(queueUrl, { Policy: "", RedrivePolicy: "" });
  expect(await all(queueUrl)).not.toHaveProperty("Policy");
  expect(await all(queueUrl)).not.toHaveProperty("RedrivePolicy");
});

test("[33] a customer key turns managed encryption off permanently", async () => {
  const queueUrl = await endpoint.queue();
  await set(queueUrl, { KmsMasterKeyId: "alias/mine", KmsDataKeyReusePeriodSeconds: "600" });
  expect(await all(queueUrl)).toMatchObject({
    KmsMasterKeyId: "alias/mine",
    KmsDataKeyReusePeriodSeconds: "600",
    SqsManagedSseEnabled: "false",
  });
  await set(queueUrl, { KmsMasterKeyId: "", KmsDataKeyReusePeriodSeconds: "300" });
  const after = await all(queueUrl);
  expect(after).not.toHaveProperty("KmsMasterKeyId");
  expect(after).not.toHaveProperty("KmsDataKeyReusePeriodSeconds");
  expect(after.SqsManagedSseEnabled).toBe("false");
});

test("[33] the data key reuse period is returned only if there is a key", async () => {
  const keyless = await endpoint.queue({ KmsDataKeyReusePeriodSeconds: "600" });
  expect(await all(keyless)).not.toHaveProperty("KmsDataKeyReusePeriodSeconds");
  const keyed = await endpoint.queue({ KmsMasterKeyId: "alias/mine" });
  expect(await all(keyed)).toMatchObject({ KmsDataKeyReusePeriodSeconds: "300" });
});

test("[33] setting both encryptions is refused", async () => {
  const Attributes = { KmsMasterKeyId: "alias/mine", SqsManagedSseEnabled: "true" };
  const create = endpoint.sqs.createQueue({ QueueName: endpoint.freshName(), Attributes });
  const failure = await failureOf(create);
  expect(failure.code).toBe("InvalidAttributeName");
  expect(failure.message).toMatch(/^You can use one type of server-side encryption \(SSE\) at one/);
  expect((await failureOf(set(await endpoint.queue(), Attributes))).code).toBe(failure.code);
});

test("[36] on a standard queue a changed delay applies to new messages only", async () => {
  const QueueUrl = await endpoint.queue();
  await endpoint.sqs.sendMessage({ QueueUrl, MessageBody: "before" });
  await set(QueueUrl, { DelaySeconds: "60" });
  await endpoint.sqs.sendMessage({ QueueUrl, MessageBody: "after" });
  const { Messages } = await endpoint.sqs.receiveMessage({ QueueUrl, MaxNumberOfMessages: 10 });
  expect(Messages!.map(({ Body }) => Body)).toEqual(["before"]);
});

test("[36] on a FIFO queue a changed delay also applies to messages already sent", async () => {
  const QueueUrl = await endpoint.fifo({ ContentBasedDeduplication: "true" });
  await endpoint.sqs.sendMessage({ QueueUrl, MessageBody: "waits", MessageGroupId: "g" });
  await set(QueueUrl, { DelaySeconds: "60" });
  expect((await endpoint.sqs.receiveMessage({ QueueUrl })).Messages).toBeUndefined();
  await set(QueueUrl, { DelaySeconds: "0" });
  const { Messages } = await endpoint.sqs.receiveMessage({ QueueUrl });
  expect(Messages).toMatchObject([{ Body: "waits" }]);
});

test("a refused set of attributes changes none of them", async () => {
  const queueUrl = await endpoint.queue();
  const before = await all(queueUrl);
  await failureOf(set(queueUrl, { VisibilityTimeout: "1", DelaySeconds: "901" }));
  await failureOf(set(queueUrl, { VisibilityTimeout: "1", Nonsense: "1" }));
  expect(await all(queueUrl)).toEqual(before);
});
