import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { CloudOptions } from "../../../src/cloud/cloud-options.ts";
import { type Cloud, startCloud } from "../../../src/cloud/start-cloud.ts";
import { packageVersion } from "../../../src/platform/package-version.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "tidegate-cloud-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

async function call(cloud: Cloud, action: string, input: object): Promise<Record<string, unknown>> {
  const reply = await fetch(cloud.endpoint, {
    method: "POST",
    headers: {
      "content-type": "application/x-amz-json-1.0",
      "x-amz-target": `AmazonSQS.${action}`,
    },
    body: JSON.stringify(input),
  });
  return (await reply.json()) as Record<string, unknown>;
}

async function createQueue(cloud: Cloud): Promise<string> {
  return (await call(cloud, "CreateQueue", { QueueName: "q" })).QueueUrl as string;
}

test("a message sent before a restart is received after it", async () => {
  const first = await startCloud({ data: folder });
  const QueueUrl = await createQueue(first);
  const sent = await call(first, "SendMessage", { QueueUrl, MessageBody: "durable" });
  await first.close();
  await using second = await startCloud({ data: folder });
  const url = await createQueue(second);
  const { Messages } = await call(second, "ReceiveMessage", { QueueUrl: url });
  expect(Messages).toMatchObject([{ Body: "durable", MessageId: sent.MessageId }]);
});

test("clouds without a folder share no state", async () => {
  await using one = await startCloud();
  await using other = await startCloud({ memory: true });
  await createQueue(one);
  expect(await call(other, "ListQueues", {})).toEqual({});
  expect(one.port).not.toBe(other.port);
});

test("virtual time ends a long poll exactly when a delayed message is due", async () => {
  await using cloud = await startCloud({ memory: true, clock: "virtual" });
  const QueueUrl = await createQueue(cloud);
  await call(cloud, "SendMessage", { QueueUrl, MessageBody: "later", DelaySeconds: 10 });
  const start = cloud.clock.now();
  const poll = cloud.broker.submit("receive", {
    queue: "q",
    max: 1,
    waitMs: 20_000 as never,
    visibilityMs: null,
    attemptId: null,
  });
  await cloud.clock.advance(9_999);
  await cloud.clock.advance(10_001);
  const outcome = await poll;
  expect(outcome).toMatchObject({ ok: true, value: { deliveries: [{ body: "later" }] } });
  expect(outcome.ok && outcome.value.deliveries[0]?.firstReceivedAt).toBe(start + 10_000);
  expect(cloud.clock.now()).toBe(start + 20_000);
});

test("the virtual clock can be advanced over HTTP, the system clock cannot", async () => {
  await using virtual = await startCloud({ clock: "virtual" });
  await using system = await startCloud();
  const advance = (cloud: Cloud, advanceMs = 5_000) =>
    fetch(new URL("/_tidegate/clock", cloud.endpoint), {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ advanceMs }),
    });
  const start = virtual.clock.now();
  expect(await (await advance(virtual)).json()).toEqual({ nowMs: start + 5_000 });
  expect((await advance(system)).status).toBe(409);
  const thousandYears = 31_557_600_000_000;
  for (let age = 0; age < 7; age += 1) await advance(virtual, thousandYears);
  const beyond = await advance(virtual, thousandYears);
  expect([beyond.status, await beyond.text()]).toEqual([400, expect.stringContaining("year 9999")]);
});

test("a request without a Host header gets queue URLs of this server", async () => {
  await using cloud = await startCloud();
  const socket = connect(cloud.port, "127.0.0.1");
  const body = '{"QueueName":"q"}';
  const head = `X-Amz-Target: AmazonSQS.CreateQueue\r\nContent-Length: ${body.length}`;
  socket.write(`POST / HTTP/1.0\r\n${head}\r\n\r\n${body}`);
  expect(await text(socket)).toContain(`{"QueueUrl":"${cloud.endpoint}/000000000000/q"}`);
});

test("close() ends long polls with an empty response and is idempotent", async () => {
  const cloud = await startCloud({ memory: true });
  const QueueUrl = await createQueue(cloud);
  const poll = call(cloud, "ReceiveMessage", { QueueUrl, WaitTimeSeconds: 20 });
  await expect
    .poll(async () => (await fetch(new URL("/_tidegate/health", cloud.endpoint))).status)
    .toBe(200); // The poll was sent earlier, so it has arrived.
  await Promise.all([cloud.close(), cloud.close()]);
  expect(await poll).toEqual({});
  await expect(fetch(cloud.endpoint)).rejects.toThrow();
});

test("health reports the version of the package", async () => {
  await using cloud = await startCloud();
  const health = await (await fetch(new URL("/_tidegate/health", cloud.endpoint))).json();
  expect(health).toMatchObject({ version: packageVersion() });
});

test("hosts below the base host are buckets, and clients may call them", async () => {
  await using cloud = await startCloud({
    baseHost: "tidegate",
    setup: { buckets: [{ name: "files" }] },
  });
  const call = (method: string, host: string, path: string) =>
    new Promise<number | undefined>((resolve, reject) => {
      const { port } = cloud;
      const sent = request({ method, port, path, headers: { host, "content-length": "0" } });
      sent.on("response", (answer) => resolve(answer.resume().statusCode));
      sent.on("error", reject).end();
    });
  expect(await call("PUT", `files.tidegate:${cloud.port}`, "/a")).toBe(200);
  expect(await call("GET", `tidegate:${cloud.port}`, "/files/a")).toBe(200);
  expect(await call("GET", `files.other:${cloud.port}`, "/a")).toBe(403);
  await expect(startCloud({ baseHost: "http://tidegate" })).rejects.toThrow("invalid baseHost");
});

test("a folder in use is refused, and a failed start releases its folder (G1)", async () => {
  const first = await startCloud({ data: folder });
  await expect(startCloud({ data: folder })).rejects.toMatchObject({ code: "TG_STORE_LOCKED" });
  const other = join(folder, "other");
  const conflicting = startCloud({ data: other, port: first.port });
  await expect(conflicting).rejects.toMatchObject({ code: "TG_PORT_IN_USE" });
  await (await startCloud({ data: other })).close();
  await first.close();
  await (await startCloud({ data: folder })).close();
});

test("a damaged folder is refused and not locked, so that it can be repaired (G1)", async () => {
  writeFileSync(join(folder, "broker.sqlite"), "no database");
  for (let time = 0; time < 2; time += 1) {
    await expect(startCloud({ data: folder })).rejects.toMatchObject({ code: "TG_STORE_CORRUPT" });
  }
});

test("a data folder in which blobs is a file is refused before any write", async () => {
  writeFileSync(join(folder, "blobs"), "no folder");
  await expect(startCloud({ data: folder })).rejects.toMatchObject({
    code: "TG_STORE_UNAVAILABLE",
    message: `data folder ${folder} cannot be used: its entry blobs is a file, not a folder`,
  });
  expect(readdirSync(folder)).toEqual(["blobs"]);
});

test("a folder named broker.pid does not prevent the start and is not removed", async () => {
  mkdirSync(join(folder, "broker.pid"));
  const cloud = await startCloud({ data: folder });
  await createQueue(cloud);
  await cloud.close();
  expect(readdirSync(folder)).toContain("broker.pid");
});

test.each<[string, object]>([
  ["both memory and a folder", { memory: true, data: "x" }],
  ["neither memory nor a folder", { memory: false }],
  ["an empty folder name", { data: "" }],
  ["a port out of range", { port: 65_536 }],
  ["a port that is not an integer", { port: 1.5 }],
  ["an unknown clock", { clock: "sundial" }],
  ["an invalid account", { account: "12" }],
  ["an invalid region", { region: "US East" }],
])("%s is refused", async (_what, options) => {
  const started = startCloud(options as CloudOptions);
  await expect(started).rejects.toMatchObject({ code: "TG_CONFIG_INVALID" });
});
