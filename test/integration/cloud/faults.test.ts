// Injected faults, as seen by the AWS SDK: complete clouds, real sockets, virtual time.

import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { SNS } from "@aws-sdk/client-sns";
import { SQS } from "@aws-sdk/client-sqs";
import { afterEach, expect, test } from "vitest";
import type { FaultSpec } from "../../../src/broker/model/fault-plan.ts";
import type { CloudOptions } from "../../../src/cloud/cloud-options.ts";
import { type Cloud, startCloud, type VirtualCloud } from "../../../src/cloud/start-cloud.ts";
import { durationMs } from "../../../src/core/units.ts";
import { createS3Client } from "../../support/s3-buckets.ts";

const clouds: Cloud[] = [];
afterEach(async () => {
  for (const cloud of clouds.splice(0)) await cloud.close();
});

const ARN = "arn:aws:sqs:us-east-1:000000000000:";

async function start(options: CloudOptions = {}) {
  const cloud = await startCloud({ ...options, clock: "virtual" });
  clouds.push(cloud);
  const { endpoint } = cloud;
  const credentials = { accessKeyId: "test", secretAccessKey: "test" };
  const client = { endpoint, region: "us-east-1", credentials };
  const sqs = new SQS(client);
  const faults = async (body: FaultSpec | FaultSpec[] | null, method = "POST") => {
    const reply = await fetch(`${endpoint}/_tidegate/faults`, {
      method,
      headers: { "content-type": "application/json" },
      ...(body === null ? {} : { body: JSON.stringify(body) }),
    });
    return (await reply.json()) as { faults: (FaultSpec & { fired: number })[] };
  };
  return {
    cloud,
    sqs,
    /** Returns the server's first response, without the SDK's retries. */
    plain: new SQS({ ...client, maxAttempts: 1 }),
    sns: new SNS(client),
    plainSns: new SNS({ ...client, maxAttempts: 1 }),
    s3: createS3Client(endpoint),
    faults,
    fired: async () => (await faults(null, "GET")).faults.map(({ fired }) => fired),
    async queue(name: string) {
      const fifo = name.endsWith(".fifo");
      const Attributes = fifo ? { FifoQueue: "true", ContentBasedDeduplication: "true" } : {};
      await sqs.createQueue({ QueueName: name, Attributes });
      return `${endpoint}/000000000000/${name}`;
    },
    async receive(QueueUrl: string, max = 10) {
      const { Messages } = await sqs.receiveMessage({ QueueUrl, MaxNumberOfMessages: max });
      return Messages ?? [];
    },
  };
}

async function fill(sqs: SQS, QueueUrl: string, bodies: readonly string[]) {
  for (const MessageBody of bodies) await sqs.sendMessage({ QueueUrl, MessageBody });
}

const LETTERS = ["a", "b", "c", "d", "e", "f"];
const always = { probability: 1 } as const;

test("duplicate: a delivered message is delivered again, with another handle", async () => {
  const { sqs, queue, receive, faults, fired } = await start();
  const QueueUrl = await queue("q");
  await fill(sqs, QueueUrl, ["x"]);
  await faults({ kind: "duplicate", target: { queue: "q" }, ...always, count: 1 });
  const [first] = await receive(QueueUrl);
  const [second] = await receive(QueueUrl);
  expect([first?.Body, second?.Body]).toEqual(["x", "x"]);
  expect(second?.MessageId).toBe(first?.MessageId);
  expect(second?.ReceiptHandle).not.toBe(first?.ReceiptHandle);
  expect(await receive(QueueUrl)).toEqual([]); // The fault's count is used up.
  expect(await fired()).toEqual([1]);
});

test("duplicate on a FIFO queue is refused, and * skips FIFO queues", async () => {
  const { sqs, queue, receive, faults, fired } = await start();
  const QueueUrl = await queue("q.fifo");
  const refused = await faults({ kind: "duplicate", target: { queue: "q.fifo" }, ...always });
  expect(refused).toMatchObject({ error: { code: "InvalidFault" } });
  await faults([
    { kind: "duplicate", target: { queue: "*" }, ...always },
    { kind: "reorder", target: { queue: "*" }, ...always },
  ]);
  for (const MessageBody of LETTERS) {
    await sqs.sendMessage({ QueueUrl, MessageBody, MessageGroupId: "g" });
  }
  expect((await receive(QueueUrl)).map(({ Body }) => Body)).toEqual(LETTERS);
  expect(await receive(QueueUrl)).toEqual([]);
  expect(await fired()).toEqual([0, 0]);
});

test("reorder: a later message is delivered first, and none is lost", async () => {
  const { sqs, queue, receive, faults } = await start();
  const QueueUrl = await queue("q");
  await fill(sqs, QueueUrl, LETTERS);
  await faults({ kind: "reorder", target: { queue: "q" }, ...always });
  const bodies = (await receive(QueueUrl)).map(({ Body }) => Body);
  expect(bodies[0]).toBe("b");
  expect(bodies).not.toEqual(LETTERS);
  expect([...bodies].sort()).toEqual(LETTERS);
});

test("delay: a message becomes visible later, and so does its group on a FIFO queue", async () => {
  const { cloud, sqs, queue, receive, faults } = await start();
  const [plain, fifo] = [await queue("q"), await queue("q.fifo")];
  await faults([
    { kind: "delay", target: { queue: "q" }, ...always, delayMs: 5_000 },
    { kind: "delay", target: { queue: "q.fifo" }, ...always, delayMs: 5_000, count: 1 },
  ]);
  await fill(sqs, plain, ["x"]);
  for (const MessageBody of ["1", "2"]) {
    await sqs.sendMessage({ QueueUrl: fifo, MessageBody, MessageGroupId: "g" });
  }
  expect([await receive(plain), await receive(fifo)]).toEqual([[], []]);
  await advance(cloud, 5_000);
  expect((await receive(plain)).map(({ Body }) => Body)).toEqual(["x"]);
  expect((await receive(fifo)).map(({ Body }) => Body)).toEqual(["1", "2"]);
});

test("drop-acknowledgement: the SDK gets no response, retries, and the queue has both messages", async () => {
  const { sqs, plain, queue, receive, faults, fired } = await start();
  const QueueUrl = await queue("q");
  const fault = { kind: "drop-acknowledgement", target: { queue: "q" } } as const;
  await faults({ ...fault, ...always, count: 1, actions: ["SendMessage"] });
  await expect(plain.sendMessage({ QueueUrl, MessageBody: "lost" })).rejects.toThrow();
  await faults({ ...fault, ...always, count: 1, actions: ["SendMessage"] });
  await sqs.sendMessage({ QueueUrl, MessageBody: "again" });
  expect(await fired()).toEqual([1]);
  const bodies = (await receive(QueueUrl)).map(({ Body }) => Body);
  expect(bodies).toEqual(["lost", "again", "again"]);
});

test("drop-acknowledgement in the same process is a rejection with a code", async () => {
  const { cloud, queue, receive, faults } = await start();
  const QueueUrl = await queue("q");
  await faults({ kind: "drop-acknowledgement", target: { queue: "q" }, ...always, count: 1 });
  const entry = {
    body: "x",
    sizeBytes: 1,
    attributes: null,
    traceHeader: null,
    groupId: null,
    dedupId: null,
    delayMs: null,
  };
  const sent = cloud.broker.submit("send", { queue: "q", entries: [entry], batch: false });
  await expect(sent).rejects.toMatchObject({ code: "TG_RESPONSE_DROPPED" });
  expect((await receive(QueueUrl)).map(({ Body }) => Body)).toEqual(["x"]);
});

test("unavailable and throttle: refused before any effect, and the SDK retries", async () => {
  const { sqs, plain, queue, receive, faults, fired } = await start();
  const QueueUrl = await queue("q");
  const target = { queue: "q" };
  await faults({ kind: "unavailable", target, ...always, count: 2 });
  const once = plain.sendMessage({ QueueUrl, MessageBody: "no" });
  await expect(once).rejects.toMatchObject({
    name: "ServiceUnavailable",
    $metadata: { httpStatusCode: 503 },
  });
  await sqs.sendMessage({ QueueUrl, MessageBody: "yes" });
  await faults({ kind: "throttle", target, ...always, count: 2 });
  await expect(plain.sendMessage({ QueueUrl, MessageBody: "no" })).rejects.toMatchObject({
    name: "RequestThrottled",
  });
  await sqs.sendMessage({ QueueUrl, MessageBody: "yes too" });
  expect(await fired()).toEqual([2, 2]);
  const bodies = (await receive(QueueUrl)).map(({ Body }) => Body);
  expect(bodies).toEqual(["yes", "yes too"]);
});

test("the query protocol gets the same faults, on the endpoint and on a queue's URL", async () => {
  const { cloud, queue, receive, faults } = await start();
  const QueueUrl = await queue("q");
  const target = { queue: "q" };
  const send = (url: string, extra: Record<string, string>) => {
    const form = { Action: "SendMessage", Version: "2012-11-05", MessageBody: "m", ...extra };
    return fetch(url, { method: "POST", body: new URLSearchParams(form) });
  };
  await faults({ kind: "throttle", target, ...always, count: 1 });
  const throttled = await send(cloud.endpoint, { QueueUrl });
  expect(throttled.status).toBe(403);
  expect(await throttled.text()).toContain("<Code>RequestThrottled</Code>");
  await faults({ kind: "unavailable", target, ...always, count: 1 });
  const unavailable = await send(QueueUrl, {});
  expect(unavailable.status).toBe(503);
  expect(await unavailable.text()).toContain("<Code>ServiceUnavailable</Code>");
  expect(await receive(QueueUrl)).toEqual([]);
  await faults({
    kind: "drop-acknowledgement",
    target,
    ...always,
    count: 1,
    actions: ["SendMessage"],
  });
  await expect(send(QueueUrl, {})).rejects.toThrow();
  expect(await receive(QueueUrl)).toHaveLength(1);
});

test("a fault of one queue does not affect other queues or lists", async () => {
  const { plain, queue, faults } = await start();
  await queue("q");
  const other = await queue("other");
  await faults({ kind: "unavailable", target: { queue: "q" }, ...always });
  await plain.sendMessage({ QueueUrl: other, MessageBody: "x" });
  expect((await plain.listQueues({})).QueueUrls).toHaveLength(2);
});

async function startTopic() {
  const world = await start();
  const { sns, queue } = world;
  const QueueUrl = await queue("copies");
  const { TopicArn = "" } = await sns.createTopic({ Name: "t" });
  await sns.subscribe({ TopicArn, Protocol: "sqs", Endpoint: `${ARN}copies` });
  return { ...world, QueueUrl, TopicArn };
}

test("duplicate (topic): one publish, two messages with the same SNS MessageId", async () => {
  const { sns, TopicArn, QueueUrl, receive, faults } = await startTopic();
  await faults({ kind: "duplicate", target: { topic: "t" }, ...always });
  const { MessageId } = await sns.publish({ TopicArn, Message: "m" });
  const messages = await receive(QueueUrl);
  expect(new Set(messages.map((message) => message.MessageId)).size).toBe(2);
  const ids = messages.map(
    ({ Body = "" }) => (JSON.parse(Body) as { MessageId: string }).MessageId,
  );
  expect(ids).toEqual([MessageId, MessageId]);
});

test("duplicate (topic): a FIFO topic sends the second copy only to standard queues", async () => {
  const { sns, queue, receive, faults } = await start();
  const [plain, fifo] = [await queue("q"), await queue("q.fifo")];
  const Attributes = { FifoTopic: "true", ContentBasedDeduplication: "true" };
  const { TopicArn = "" } = await sns.createTopic({ Name: "t.fifo", Attributes });
  for (const name of ["q", "q.fifo"]) {
    await sns.subscribe({ TopicArn, Protocol: "sqs", Endpoint: `${ARN}${name}` });
  }
  await faults({ kind: "duplicate", target: { topic: "t.fifo" }, ...always });
  await sns.publish({ TopicArn, Message: "m", MessageGroupId: "g" });
  expect(await receive(plain)).toHaveLength(2);
  expect(await receive(fifo)).toHaveLength(1);
});

test("faults of a topic apply to http endpoints: a notification arrives twice, and late", async () => {
  const posted: string[] = [];
  const server = createServer((request, response) => {
    let body = "";
    request.on("data", (chunk) => {
      body += chunk;
    });
    request.on("end", () => {
      posted.push(body);
      response.end();
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  try {
    const { sns, cloud, faults } = await start();
    const { TopicArn = "" } = await sns.createTopic({ Name: "t" });
    const Endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
    await sns.subscribe({ TopicArn, Protocol: "http", Endpoint });
    await cloud.broker.idle();
    const { Token } = JSON.parse(posted.splice(0)[0] ?? "{}") as { Token?: string };
    await sns.confirmSubscription({ TopicArn, Token });
    await faults([
      { kind: "duplicate", target: { topic: "t" }, ...always },
      { kind: "delay", target: { topic: "t" }, ...always, delayMs: 3_000 },
    ]);
    const { MessageId } = await sns.publish({ TopicArn, Message: "m" });
    await cloud.broker.idle();
    expect(posted).toEqual([]);
    await advance(cloud, 3_000);
    await cloud.broker.idle();
    const ids = posted.map((body) => (JSON.parse(body) as { MessageId: string }).MessageId);
    expect(ids).toEqual([MessageId, MessageId]);
  } finally {
    server.close();
  }
});

test("delay of a bucket and of the topic it notifies add up", async () => {
  const { s3, sns, cloud, queue, receive, faults } = await start();
  const QueueUrl = await queue("copies");
  const { TopicArn = "" } = await sns.createTopic({ Name: "t" });
  await sns.subscribe({ TopicArn, Protocol: "sqs", Endpoint: `${ARN}copies` });
  await s3.createBucket({ Bucket: "uploads" });
  await s3.putBucketNotificationConfiguration({
    Bucket: "uploads",
    SkipDestinationValidation: true,
    NotificationConfiguration: {
      TopicConfigurations: [{ TopicArn, Events: ["s3:ObjectCreated:*"] }],
    },
  });
  await faults([
    { kind: "delay", target: { bucket: "uploads" }, ...always, delayMs: 1_000 },
    { kind: "delay", target: { topic: "t" }, ...always, delayMs: 2_000 },
    { kind: "delay", target: { queue: "copies" }, ...always, delayMs: 4_000 },
  ]);
  await s3.putObject({ Bucket: "uploads", Key: "k", Body: "x" });
  await advance(cloud, 6_999);
  expect(await receive(QueueUrl)).toEqual([]);
  await advance(cloud, 1);
  expect(await receive(QueueUrl)).toHaveLength(1);
});

test("delay (topic): copies become visible later", async () => {
  const { sns, cloud, TopicArn, QueueUrl, receive, faults } = await startTopic();
  await faults({ kind: "delay", target: { topic: "*" }, ...always, delayMs: 1_000 });
  await sns.publish({ TopicArn, Message: "m" });
  expect(await receive(QueueUrl)).toEqual([]);
  await advance(cloud, 1_000);
  expect(await receive(QueueUrl)).toHaveLength(1);
});

test("requests (topic): SNS's own errors, and a publish whose response is lost has taken effect", async () => {
  const { sns, plainSns, TopicArn, QueueUrl, receive, faults } = await startTopic();
  const publish = { TopicArn, Message: "m" };
  await faults({ kind: "throttle", target: { topic: "t" }, ...always, count: 1 });
  await expect(plainSns.publish(publish)).rejects.toMatchObject({
    name: "ThrottledException",
    $metadata: { httpStatusCode: 429 },
  });
  await faults({ kind: "unavailable", target: { topic: "t" }, ...always, count: 1 });
  await expect(plainSns.publish(publish)).rejects.toMatchObject({
    $metadata: { httpStatusCode: 503 },
  });
  expect(await receive(QueueUrl)).toEqual([]);
  await faults({ kind: "drop-acknowledgement", target: { topic: "t" }, ...always, count: 1 });
  await sns.publish(publish); // The SDK has sent it twice.
  expect(await receive(QueueUrl)).toHaveLength(2);
});

async function startBucket() {
  const world = await start();
  const QueueUrl = await world.queue("events");
  await world.s3.createBucket({ Bucket: "uploads" });
  await world.s3.putBucketNotificationConfiguration({
    Bucket: "uploads",
    SkipDestinationValidation: true,
    NotificationConfiguration: {
      QueueConfigurations: [{ QueueArn: `${ARN}events`, Events: ["s3:ObjectCreated:*"] }],
    },
  });
  return { ...world, QueueUrl };
}

test("duplicate and delay (bucket): the event arrives twice, and late", async () => {
  const { s3, cloud, QueueUrl, receive, faults } = await startBucket();
  await faults([
    { kind: "duplicate", target: { bucket: "uploads" }, ...always },
    { kind: "delay", target: { bucket: "uploads" }, ...always, delayMs: 2_000 },
  ]);
  await s3.putObject({ Bucket: "uploads", Key: "k", Body: "x" });
  expect(await receive(QueueUrl)).toEqual([]);
  await advance(cloud, 2_000);
  const bodies = (await receive(QueueUrl)).map(({ Body }) => Body);
  expect(bodies).toHaveLength(2);
  expect(bodies[1]).toBe(bodies[0]);
});

test("requests (bucket): SlowDown and 503 have no effect; a lost response has", async () => {
  const { s3, QueueUrl, receive, faults, fired } = await startBucket();
  const put = { Bucket: "uploads", Key: "k", Body: "x" };
  const target = { bucket: "uploads" };
  await faults([
    { kind: "throttle", target, ...always, count: 1 },
    { kind: "unavailable", target, ...always, count: 1 },
  ]);
  await s3.putObject(put);
  expect(await fired()).toEqual([1, 1]);
  expect(await receive(QueueUrl)).toHaveLength(1);
  await faults({
    kind: "drop-acknowledgement",
    target,
    ...always,
    actions: ["GetObject"],
    count: 1,
  });
  const { Body } = await s3.getObject({ Bucket: "uploads", Key: "k" });
  expect(await Body?.transformToString()).toBe("x");
  expect(await fired()).toEqual([1, 1, 1]);
});

test("the same seed and the same requests give the same faults", async () => {
  const run = async (seed: number) => {
    const { sqs, queue, receive } = await start({
      faults: [
        { kind: "reorder", target: { queue: "*" }, probability: 0.5, seed },
        { kind: "duplicate", target: { queue: "q" }, probability: 0.5, seed },
      ],
    });
    const QueueUrl = await queue("q");
    await fill(sqs, QueueUrl, LETTERS);
    const rounds: string[] = [];
    for (let round = 0; round < 8; round += 1) {
      rounds.push((await receive(QueueUrl, 3)).map(({ Body }) => Body).join(""));
    }
    return rounds;
  };
  const first = await run(3);
  expect(await run(3)).toEqual(first);
  expect(await run(4)).not.toEqual(first);
});

test("faults are off by default and removed by a restart", async () => {
  const data = mkdtempSync(join(tmpdir(), "tidegate-faults-"));
  try {
    const first = await start({ data });
    expect(await first.fired()).toEqual([]);
    await first.faults({ kind: "unavailable", target: { queue: "*" }, ...always });
    await first.cloud.close();
    const second = await start({ data });
    expect(await second.fired()).toEqual([]);
    await second.cloud.close();
  } finally {
    rmSync(data, { recursive: true, force: true });
  }
});

test("startCloud refuses an invalid fault", async () => {
  const faults = [{ kind: "boom", target: { queue: "q" }, probability: 2 }];
  await expect(startCloud({ faults: faults as unknown as FaultSpec[] })).rejects.toMatchObject({
    code: "TG_CONFIG_INVALID",
    message: expect.stringMatching(/faults\[0\]\.kind[\s\S]*faults\[0\]\.probability/),
  });
});

test.each([1, 2, 3])(
  "with every fault at 0.3, a consumer that deletes what it received misses nothing (seed %d)",
  async (seed) => {
    const kinds = ["duplicate", "reorder", "delay", "drop-acknowledgement", "unavailable"] as const;
    const faults = [...kinds, "throttle" as const].map((kind) => ({
      kind,
      target: { queue: "*" },
      probability: 0.3,
      seed,
      ...(kind === "delay" ? { delayMs: 1_000 } : {}),
    }));
    const { cloud, faults: control } = await start();
    const { endpoint } = cloud;
    const credentials = { accessKeyId: "test", secretAccessKey: "test" };
    const sqs = new SQS({ endpoint, region: "us-east-1", credentials, maxAttempts: 1 });
    await sqs.createQueue({ QueueName: "q" });
    const QueueUrl = `${endpoint}/000000000000/q`;
    await control(faults);
    const sent = Array.from({ length: 40 }, (_, index) => `m${index}`);
    for (const MessageBody of sent)
      await untilDone(() => sqs.sendMessage({ QueueUrl, MessageBody }));
    const got = new Set<string>();
    for (let round = 0; round < 400 && !(await isEmpty(sqs, QueueUrl)); round += 1) {
      const answer = await untilDone(() =>
        sqs.receiveMessage({ QueueUrl, MaxNumberOfMessages: 10 }),
      );
      for (const { Body = "", ReceiptHandle } of answer.Messages ?? []) {
        got.add(Body);
        await untilDone(() => sqs.deleteMessage({ QueueUrl, ReceiptHandle }));
      }
      await advance(cloud, 10_000); // Delays end, and messages of lost responses become visible.
    }
    expect([...got].sort()).toEqual([...sent].sort());
    expect(await isEmpty(sqs, QueueUrl)).toBe(true);
  },
);

/** Retries until a call succeeds; no fault here fires every time. */
async function untilDone<T>(ask: () => Promise<T>): Promise<T> {
  for (let attempt = 0; attempt < 100; attempt += 1) {
    try {
      return await ask();
    } catch (error) {
      if (attempt === 99) throw error;
    }
  }
  throw new Error("100 attempts failed");
}

async function isEmpty(sqs: SQS, QueueUrl: string): Promise<boolean> {
  const names = ["", "NotVisible", "Delayed"].map(
    (suffix) => `ApproximateNumberOfMessages${suffix}` as const,
  );
  const { Attributes } = await untilDone(() =>
    sqs.getQueueAttributes({ QueueUrl, AttributeNames: ["All"] }),
  );
  return names.every((name) => Attributes?.[name as keyof typeof Attributes] === "0");
}

function advance(cloud: Cloud, ms: number): Promise<void> {
  return (cloud as VirtualCloud).clock.advance(durationMs(ms));
}
