// A disk that fills up under a running server, seen from outside. Acknowledged messages are stored,
// others are stored completely or not at all, and the server continues once there is space again.

import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { startCloud, type VirtualCloud } from "../../../src/cloud/start-cloud.ts";
import { FoldMark, isFoldOpen } from "../../../src/stores/sqlite/fold-mark.ts";
import { freeBytesOf } from "../../../src/stores/sqlite/renew-log.ts";
import { mountSmallDisk, NO_SMALL_DISK } from "../../support/small-disk.ts";

const SENDS_MAX = 2_000;
const TOGETHER = 4;
const BODY_CHARACTERS = 9_000;
/** A disk whose reserve is smaller than the data file of the test, and bodies to fill that. */
const DOUBT = { megabytes: 24, messages: 60, characters: 100_000, freeBytes: 1_000_000 };
/** Longer than the engine's pause after a failed store; the clock is virtual. */
const REST_MS = 60_000;

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "tidegate-full-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

interface Answer {
  readonly status: number;
  readonly body: Record<string, unknown>;
}

async function call(cloud: VirtualCloud, action: string, input: object): Promise<Answer> {
  const reply = await fetch(cloud.endpoint, {
    method: "POST",
    headers: {
      "content-type": "application/x-amz-json-1.0",
      "x-amz-target": `AmazonSQS.${action}`,
    },
    body: JSON.stringify(input),
  });
  const text = await reply.text();
  return { status: reply.status, body: text === "" ? {} : JSON.parse(text) };
}

const bodyOf = (number: number) => `${number} `.padEnd(BODY_CHARACTERS, "x");

/** Sends several at a time until one is refused; returns acknowledged bodies and refusals. */
async function fill(cloud: VirtualCloud, QueueUrl: string) {
  const acknowledged: string[] = [];
  const refused: Answer[] = [];
  for (let number = 0; number < SENDS_MAX && refused.length === 0; number += TOGETHER) {
    const bodies = Array.from({ length: TOGETHER }, (_, index) => bodyOf(number + index));
    const send = (MessageBody: string) => call(cloud, "SendMessage", { QueueUrl, MessageBody });
    for (const [index, answer] of (await Promise.all(bodies.map(send))).entries()) {
      if (answer.status === 200) acknowledged.push(bodies[index] as string);
      else refused.push(answer);
    }
  }
  expect(refused.length).toBeGreaterThan(0);
  expect(acknowledged.length).toBeGreaterThan(0);
  return { acknowledged, refused };
}

/** A server with a full disk is of use to its clients: it stays in rotation. */
const FULL = {
  status: 200,
  body: { status: "full", reason: expect.stringContaining("deletes") },
};

async function healthOf(cloud: VirtualCloud) {
  const reply = await fetch(`${cloud.endpoint}/_tidegate/health`);
  const { status, reason } = (await reply.json()) as { status: string; reason?: string };
  return { status: reply.status, body: { status, ...(reason && { reason }) } };
}

function expectUnavailable(answer: Answer): void {
  expect(answer.status).toBe(503);
  expect(answer.body.__type).toBe("com.amazon.coral.service#ServiceUnavailable");
}

/** The bodies in a queue, by peeking. */
async function bodiesIn(cloud: VirtualCloud): Promise<string[]> {
  const bodies: string[] = [];
  for (let after: number | null = 0; after !== null; ) {
    const path = `/_tidegate/queues/full/messages?after=${after}&limit=100`;
    const reply = await fetch(`${cloud.endpoint}${path}`);
    expect(reply.status).toBe(200);
    const page = (await reply.json()) as { messages: { body: string }[]; nextAfter: number | null };
    bodies.push(...page.messages.map(({ body }) => body));
    after = page.nextAfter;
  }
  return bodies;
}

async function startFull(data: string, errors: unknown[], dataPagesMax?: number) {
  const onError = (error: unknown) => void errors.push(error);
  const limit = dataPagesMax === undefined ? {} : { dataPagesMax };
  const cloud = await startCloud({ data, clock: "virtual", onError, ...limit });
  const find = await call(cloud, "GetQueueUrl", { QueueName: "full" });
  const isMissing = find.status !== 200;
  const { body } = isMissing ? await call(cloud, "CreateQueue", { QueueName: "full" }) : find;
  return { cloud, QueueUrl: String(body.QueueUrl) };
}

/** Every acknowledged body exists once, plus at most the messages of the failed commit. */
function expectStored(stored: readonly string[], acknowledged: readonly string[]): void {
  expect(new Set(stored).size).toBe(stored.length);
  expect(stored.filter((body) => acknowledged.includes(body))).toEqual(acknowledged);
  expect(stored.length - acknowledged.length).toBeLessThanOrEqual(TOGETHER);
}

describe("a data file that cannot grow", () => {
  test("returns 503, keeps acknowledged messages, and accepts more once messages are deleted", async () => {
    const errors: unknown[] = [];
    const { cloud, QueueUrl } = await startFull(folder, errors, 120);
    const { acknowledged, refused } = await fill(cloud, QueueUrl);
    for (const answer of refused) expectUnavailable(answer);
    expect(errors.length).toBeGreaterThan(0); // The operator gets the reason.
    expect(await healthOf(cloud)).toEqual(FULL);
    expectUnavailable(await call(cloud, "SendMessage", { QueueUrl, MessageBody: bodyOf(0) }));
    expect(await healthOf(cloud)).toEqual(FULL);

    await cloud.clock.advance(REST_MS);
    expectStored(await bodiesIn(cloud), acknowledged);
    const input = { QueueUrl, MaxNumberOfMessages: 10 };
    const { body, status } = await call(cloud, "ReceiveMessage", input);
    expect(status).toBe(200);
    const received = body.Messages as { ReceiptHandle: string; Body: string }[];
    for (const { ReceiptHandle } of received) {
      expect((await call(cloud, "DeleteMessage", { QueueUrl, ReceiptHandle })).status).toBe(200);
    }
    const sent = await call(cloud, "SendMessage", { QueueUrl, MessageBody: "fits again" });
    expect(sent.status).toBe(200);
    expect(await healthOf(cloud)).toEqual({ status: 200, body: { status: "ok" } });
    const gone = new Set(received.map((message) => message.Body));
    const remaining = [...acknowledged.filter((each) => !gone.has(each)), "fits again"];
    await cloud.close();

    await using again = await startCloud({ data: folder, clock: "virtual" });
    expectStored(await bodiesIn(again), remaining);
  });
});

describe("a small file system", () => {
  test("returns 503 for sends while it is full, reads, and succeeds once it has grown", async (context) => {
    const mount = join(folder, "small");
    mkdirSync(mount);
    if (!tryMount(mount)) {
      context.skip("mounting a small file system needs root and permission to mount");
    }
    try {
      const errors: unknown[] = [];
      const { cloud, QueueUrl } = await startFull(mount, errors);
      const { acknowledged, refused } = await fill(cloud, QueueUrl);
      for (const answer of refused) expectUnavailable(answer);
      expect(await healthOf(cloud)).toEqual(FULL);
      await cloud.clock.advance(REST_MS);
      const MessageBody = "too early ".repeat(20_000);
      expectUnavailable(await call(cloud, "SendMessage", { QueueUrl, MessageBody }));
      expectStored(await bodiesIn(cloud), acknowledged);

      execFileSync("mount", ["-o", "remount,size=16m", mount]);
      await cloud.clock.advance(REST_MS);
      expectStored(await bodiesIn(cloud), acknowledged);
      const sent = await call(cloud, "SendMessage", { QueueUrl, MessageBody: "fits again" });
      expect(sent.status).toBe(200);
      await cloud.close();
      const again = await startCloud({ data: mount, clock: "virtual" });
      expectStored(await bodiesIn(again), [...acknowledged, "fits again"]);
      await again.close();
    } finally {
      execFileSync("umount", ["-l", mount]);
    }
  });
});

describe("a data file in doubt, without space for a new one", () => {
  test("is served, and renewed once there is space", async (context) => {
    const disk = mountSmallDisk(join(folder, "small"), DOUBT.megabytes);
    if (disk === null) return context.skip(NO_SMALL_DISK);
    try {
      const file = join(disk.path, "broker.sqlite");
      const errors: unknown[] = [];
      const before = await startFull(disk.path, errors);
      for (let number = 0; number < DOUBT.messages; number += 1) {
        const MessageBody = `${number} `.padEnd(DOUBT.characters, "x");
        await call(before.cloud, "SendMessage", { QueueUrl: before.QueueUrl, MessageBody });
      }
      const acknowledged = await bodiesIn(before.cloud);
      expect(acknowledged.length).toBe(DOUBT.messages);
      await before.cloud.close();
      new FoldMark(file).begin(); // As a process leaves it that dies in a fold.
      const inode = statSync(file).ino;
      const filler = join(disk.path, "filler");
      writeFileSync(filler, Buffer.alloc(freeBytesOf(disk.path) - DOUBT.freeBytes));

      const { cloud, QueueUrl } = await startFull(disk.path, errors);
      expect(await bodiesIn(cloud)).toEqual(acknowledged);
      expect(await healthOf(cloud)).toEqual(FULL);
      const health = await fetch(`${cloud.endpoint}/_tidegate/health`);
      expect(await health.json()).toMatchObject({
        store: {
          reason: expect.stringMatching(/needs \d+\.\d MB of disk space for a new file/),
          neededBytes: expect.any(Number),
          works: expect.stringContaining("all that works on a full disk"),
        },
      });
      expect(errors.map(String).join()).toMatch(/for a new file, and [01]\.\d MB are free/);
      const { body } = await call(cloud, "ReceiveMessage", { QueueUrl });
      const [received] = body.Messages as { ReceiptHandle: string; Body: string }[];
      const ReceiptHandle = received?.ReceiptHandle;
      expect((await call(cloud, "DeleteMessage", { QueueUrl, ReceiptHandle })).status).toBe(200);
      expectUnavailable(await call(cloud, "SendMessage", { QueueUrl, MessageBody: "early" }));
      expect([statSync(file).ino, isFoldOpen(file)]).toEqual([inode, true]);

      rmSync(filler);
      const send = () => call(cloud, "SendMessage", { QueueUrl, MessageBody: "fits again" });
      await expect
        .poll(async () => {
          await cloud.clock.advance(REST_MS);
          return (await send()).status;
        })
        .toBe(200);
      expect([statSync(file).ino === inode, isFoldOpen(file)]).toEqual([false, false]);
      const remaining = acknowledged.filter((each) => each !== received?.Body);
      expect(await bodiesIn(cloud)).toEqual([...remaining, "fits again"]);
      expect(await healthOf(cloud)).toEqual({ status: 200, body: { status: "ok" } });
      await cloud.close();
      await using again = await startCloud({ data: disk.path, clock: "virtual" });
      expect(await bodiesIn(again)).toEqual([...remaining, "fits again"]);
    } finally {
      disk.unmount();
    }
  });
});

function tryMount(at: string): boolean {
  try {
    execFileSync("mount", ["-t", "tmpfs", "-o", "size=1m", "tmpfs", at], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}
