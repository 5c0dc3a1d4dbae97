import { expect, test } from "vitest";
import { ACCOUNT, createSdkClient, failureOf, useEndpoint } from "../../support/endpoint.ts";

const endpoint = useEndpoint();

const create = (QueueName: string, Attributes: Record<string, string> = {}) =>
  endpoint.sqs.createQueue({ QueueName, Attributes });

test.each(["a", "A-z_0-9", "x".repeat(80)])("[24] %s is a valid name", async (name) => {
  expect((await create(name)).QueueUrl).toBe(`${endpoint.url}/${ACCOUNT}/${name}`);
});

test.each(["", "x".repeat(81), "a b", "a/b", "a.b", "ä", "a.fifo"])(
  "[24] %j is not a valid name of a standard queue",
  async (name) => {
    const failure = await failureOf(create(name));
    expect(failure).toMatchObject({ code: "InvalidParameterValue", status: 400 });
  },
);

test("[24] a FIFO queue's name ends with .fifo, which counts towards its length", async () => {
  const FIFO = { FifoQueue: "true" };
  const longest = `${"y".repeat(75)}.fifo`;
  expect((await create(longest, FIFO)).QueueUrl).toMatch(/\.fifo$/);
  for (const name of [`y${longest}`, "without-suffix", ".fifo", "a.fifo.fifo"]) {
    const failure = await failureOf(create(name, FIFO));
    expect(failure).toMatchObject({ code: "InvalidParameterValue" });
  }
});

test.each(["True", "TRUE"])("a client may write a boolean as %s", async (yes) => {
  const name = `${endpoint.freshName()}.fifo`;
  const attributes = { FifoQueue: yes, ContentBasedDeduplication: yes };
  const { QueueUrl } = await create(name, attributes);
  const { Attributes } = await endpoint.sqs.getQueueAttributes({
    QueueUrl,
    AttributeNames: ["FifoQueue", "ContentBasedDeduplication"],
  });
  expect(Attributes).toEqual({ FifoQueue: "true", ContentBasedDeduplication: "true" });
  expect((await create(name, attributes)).QueueUrl).toBe(QueueUrl);
  const off = { ContentBasedDeduplication: "False" };
  await endpoint.sqs.setQueueAttributes({ QueueUrl, Attributes: off });
  expect((await create(name, { ...attributes, ...off })).QueueUrl).toBe(QueueUrl);
});

test.each([
  ["FifoQueue", "false", "Unknown Attribute FifoQueue."],
  ["ContentBasedDeduplication", "true", "Unknown Attribute ContentBasedDeduplication."],
  [
    "DeduplicationScope",
    "queue",
    "You can specify the DeduplicationScope only when FifoQueue is set to true.",
  ],
  [
    "FifoThroughputLimit",
    "perQueue",
    "You can specify the FifoThroughputLimit only when FifoQueue is set to true.",
  ],
])("[25] a standard queue refuses %s", async (name, value, message) => {
  const expected = { code: "InvalidAttributeName", message };
  expect(await failureOf(create(endpoint.freshName(), { [name]: value }))).toMatchObject(expected);
  const QueueUrl = await endpoint.queue();
  const set = endpoint.sqs.setQueueAttributes({ QueueUrl, Attributes: { [name]: value } });
  expect(await failureOf(set)).toMatchObject(expected);
});

test("[26] the type of a queue cannot be changed", async () => {
  const QueueUrl = await endpoint.fifo();
  const set = (FifoQueue: string) =>
    endpoint.sqs.setQueueAttributes({ QueueUrl, Attributes: { FifoQueue } });
  expect(await failureOf(set("false"))).toMatchObject({
    code: "InvalidAttributeValue",
    message:
      "Invalid value for the parameter FifoQueue. Reason: Modifying queue type is not supported.",
  });
  await set("true");
});

test("[27] creating a queue that exists returns its URL if no given attribute differs", async () => {
  const name = endpoint.freshName();
  const { QueueUrl } = await create(name, { DelaySeconds: "5", VisibilityTimeout: "30" });
  const same = [{}, { DelaySeconds: "5" }, { VisibilityTimeout: "30" }, { DelaySeconds: "05" }];
  for (const attributes of same) {
    expect((await create(name, attributes)).QueueUrl).toBe(QueueUrl);
  }
  const tagged = await endpoint.sqs.createQueue({ QueueName: name, tags: { other: "tag" } });
  expect(tagged.QueueUrl).toBe(QueueUrl);
  expect(await failureOf(create(name, { DelaySeconds: "6" }))).toMatchObject({
    shape: "QueueNameExists",
    code: "QueueAlreadyExists",
    message:
      "A queue already exists with the same name and a different value for attribute DelaySeconds",
  });
  const differing = await failureOf(create(name, { MaximumMessageSize: "1024" }));
  expect(differing.shape).toBe("QueueNameExists"); // Not given at creation, but it has a default.
});

test("[28] the name of a deleted queue is blocked for 60 seconds", async () => {
  const name = endpoint.freshName();
  const { QueueUrl } = await create(name);
  await endpoint.sqs.sendMessage({ QueueUrl, MessageBody: "of the first" });
  await endpoint.sqs.deleteQueue({ QueueUrl });
  await endpoint.pass(59.999);
  expect(await failureOf(create(name))).toMatchObject({
    shape: "QueueDeletedRecently",
    message:
      "You must wait 60 seconds after deleting a queue before you can create another with the same name.",
  });
  await endpoint.pass(0.001);
  expect((await create(name)).QueueUrl).toBe(QueueUrl);
  expect((await endpoint.sqs.receiveMessage({ QueueUrl })).Messages).toBeUndefined();
});

test("queues are listed by prefix, in pages that the SDK's paginator can read", async () => {
  const prefix = `paged-${endpoint.freshName()}-`;
  const names = ["a", "b", "c", "d", "e"].map((letter) => prefix + letter);
  for (const name of names.toReversed()) await create(name);
  const pages: string[][] = [];
  let NextToken: string | undefined;
  do {
    const request = { QueueNamePrefix: prefix, MaxResults: 2, ...(NextToken && { NextToken }) };
    const page = await endpoint.sqs.listQueues(request);
    pages.push(page.QueueUrls!.map((url) => url.split("/").at(-1)!));
    NextToken = page.NextToken;
  } while (NextToken !== undefined && pages.length < 10);
  expect(pages.map((page) => page.length)).toEqual([2, 2, 1]);
  expect(pages.flat().sort()).toEqual(names);
  const all = await endpoint.sqs.listQueues({ QueueNamePrefix: prefix });
  expect([all.QueueUrls!.length, all.NextToken]).toEqual([5, undefined]);
  const none = await endpoint.sqs.listQueues({ QueueNamePrefix: `${prefix}none` });
  expect(none.QueueUrls).toBeUndefined();
});

test("a page has 1 to 1000 queues, and its token must come from a previous page", async () => {
  for (const MaxResults of [0, 1_001]) {
    const failure = await failureOf(endpoint.sqs.listQueues({ MaxResults }));
    expect(failure.code).toBe("InvalidParameterValue");
  }
  const wrong = endpoint.sqs.listQueues({ MaxResults: 2, NextToken: "!" });
  expect((await failureOf(wrong)).code).toBe("InvalidParameterValue");
});

test("GetQueueUrl returns the URL with the host that the caller used", async () => {
  const url = await endpoint.queue();
  const QueueName = url.split("/").at(-1)!;
  expect((await endpoint.sqs.getQueueUrl({ QueueName })).QueueUrl).toBe(url);
  const local = createSdkClient(`http://localhost:${endpoint.cloud.port}`);
  const reply = await local.getQueueUrl({ QueueName });
  expect(reply.QueueUrl).toBe(`http://localhost:${endpoint.cloud.port}/${ACCOUNT}/${QueueName}`);
  local.destroy();
});
