import { Agent, request } from "node:http";
import { paginateListQueues, SQS } from "@aws-sdk/client-sqs";
import { expect, test, vi } from "vitest";
import { TidegateError } from "../../../src/api/cloud.ts";
import { ACCOUNT, brokerBehindHttp, REGION, useEndpoint } from "../../support/endpoint.ts";

// Common usage that no numbered fact covers.

const endpoint = useEndpoint();
const CREDENTIALS = { accessKeyId: "test", secretAccessKey: "test" };
const MESSAGE_BYTES_MAX = 1_048_576;

test("a client without an endpoint finds the server by the queue's URL", async () => {
  const QueueUrl = await endpoint.queue();
  const sqs = new SQS({ region: REGION, credentials: CREDENTIALS });
  const warn = vi.spyOn(console, "warn").mockReturnValue(); // The SDK warns each time.
  await sqs.sendMessage({ QueueUrl, MessageBody: "by its URL" });
  const { Messages } = await sqs.receiveMessage({ QueueUrl });
  expect(Messages).toMatchObject([{ Body: "by its URL" }]);
  expect(warn).toHaveBeenCalled();
  warn.mockRestore();
  sqs.destroy();
});

test("the SDK's own paginator lists all queues", async () => {
  const prefix = `walked-${endpoint.freshName()}-`;
  for (let i = 0; i < 5; i += 1) await endpoint.sqs.createQueue({ QueueName: prefix + i });
  const urls: string[] = [];
  const walk = { client: endpoint.sqs, pageSize: 2 };
  for await (const page of paginateListQueues(walk, { QueueNamePrefix: prefix })) {
    urls.push(...(page.QueueUrls ?? []));
  }
  expect(urls).toHaveLength(5);
});

test.each(["ü", "日", "🌊", '"', "<", "\t"])(
  "a message of maximum size is accepted in both protocols, however long %j is when escaped",
  async (character) => {
    const QueueUrl = await endpoint.queue();
    const count = Math.floor(MESSAGE_BYTES_MAX / Buffer.byteLength(character));
    const MessageBody = character.repeat(count);
    const escaped = escapeFully(character).repeat(count);
    const json = `{"QueueUrl":"${QueueUrl}","MessageBody":"${escaped}"}`;
    expect((await endpoint.json("SendMessage", json)).status).toBe(200);
    const form = { Action: "SendMessage", QueueUrl, MessageBody };
    expect((await endpoint.query(form)).status).toBe(200);
    const { Messages } = await endpoint.sqs.receiveMessage({ QueueUrl, MaxNumberOfMessages: 10 });
    expect(Messages!.map(({ Body }) => Body === MessageBody)).toEqual([true, true]);
  },
);

/** Escapes all characters except ASCII letters as \uXXXX, as some JSON writers do. */
function escapeFully(character: string): string {
  return [...Array(character.length).keys()]
    .map((i) => `\\u${character.charCodeAt(i).toString(16).padStart(4, "0")}`)
    .join("");
}

test("one connection serves many requests", async () => {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const ports = new Set<number | undefined>();
  for (let i = 0; i < 3; i += 1) ports.add(await callOver(agent, "{}"));
  agent.destroy();
  expect(ports.size).toBe(1);
});

/** Lists queues with a chunked body, after 100 Continue; returns the client's port. */
function callOver(agent: Agent, body: string): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const call = request(endpoint.url, {
      agent,
      method: "POST",
      headers: {
        "content-type": "application/x-amz-json-1.0; charset=utf-8",
        "x-amz-target": "AmazonSQS.ListQueues",
        "transfer-encoding": "chunked",
        expect: "100-continue",
      },
    });
    call.on("error", reject);
    call.on("continue", () => call.end(body));
    call.on("response", (reply) => {
      const { localPort } = reply.socket;
      reply.resume();
      if (reply.statusCode !== 200) reject(new Error(`status ${reply.statusCode}`));
      else reply.on("end", () => resolve(localPort));
    });
    call.flushHeaders();
  });
}

test.each(["localhost", "queue.example", "us-east-1.queue.localhost", "[::1]"])(
  "queue URLs have the host that the caller used: %s",
  async (host) => {
    const name = endpoint.freshName();
    const url = await new Promise<string>((resolve, reject) => {
      const call = request(endpoint.url, {
        method: "POST",
        headers: {
          host: `${host}:4566`,
          "content-type": "application/x-amz-json-1.0",
          "x-amz-target": "AmazonSQS.CreateQueue",
        },
      });
      call.on("error", reject);
      call.on("response", async (reply) => {
        resolve(JSON.parse(Buffer.concat(await reply.toArray()).toString()).QueueUrl);
      });
      call.end(JSON.stringify({ QueueName: name }));
    });
    expect(url).toBe(`http://${host}:4566/${ACCOUNT}/${name}`);
  },
);

test("concurrent sends by many clients lose and duplicate nothing", async () => {
  const QueueUrl = await endpoint.queue();
  const bodies = Array.from({ length: 50 }, (_, i) => `body ${i}`);
  await Promise.all(
    bodies.map((MessageBody) => endpoint.sqs.sendMessage({ QueueUrl, MessageBody })),
  );
  const receives = Array.from({ length: 10 }, () =>
    endpoint.sqs.receiveMessage({ QueueUrl, MaxNumberOfMessages: 10 }),
  );
  const answers = await Promise.all(receives);
  const received = answers.flatMap(({ Messages = [] }) => Messages.map(({ Body }) => Body));
  expect(received.toSorted()).toEqual(bodies.toSorted());
});

test("a transient store failure is a 503, which the SDK retries", async () => {
  const QueueUrl = await endpoint.queue();
  const report = vi.spyOn(console, "error").mockReturnValue(); // The error is reported there.
  const failure = new TidegateError("TG_STORE_UNAVAILABLE", "The disk is full.");
  const submit = vi
    .spyOn(brokerBehindHttp(endpoint.cloud), "submit")
    .mockRejectedValueOnce(failure);
  const sent = await endpoint.sqs.sendMessage({ QueueUrl, MessageBody: "stored" });
  submit.mockRestore();
  expect(sent.$metadata.attempts).toBe(2);
  expect(report).toHaveBeenCalledWith(expect.stringContaining("The disk is full."));
  report.mockRestore();
  const { Messages } = await endpoint.sqs.receiveMessage({ QueueUrl, MaxNumberOfMessages: 10 });
  expect(Messages).toMatchObject([{ Body: "stored" }]);
});

test("null fields and unknown fields are treated as absent", async () => {
  const QueueUrl = await endpoint.queue();
  const nulls = { DelaySeconds: null, MessageAttributes: null, MessageGroupId: null };
  const input = { QueueUrl, MessageBody: "x", ...nulls, NewInSomeYears: { a: [1] } };
  expect((await endpoint.json("SendMessage", input)).status).toBe(200);
});
