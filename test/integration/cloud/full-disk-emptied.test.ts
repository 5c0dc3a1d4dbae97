// A disk that the broker's own data has filled: what frees space works, also after a kill and a
// restart on the full disk; what needs space is answered with 503 and the reason.

import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, type TestContext, test } from "vitest";
import { type CommandRun, startCommand } from "../../support/command-process.ts";
import { eventually } from "../../support/eventually.ts";
import { mountSmallDisk, NO_SMALL_DISK, type SmallDisk } from "../../support/small-disk.ts";

const DISK_MB = 24;
const OBJECT = "o".repeat(300_000);
const MESSAGE = "m".repeat(60_000);
const PUTS_MAX = 1_000;
const SENTENCE = "The disk is full; delete messages or objects, or free disk space.";

let folder: string;
let disk: SmallDisk | null;
let server: CommandRun | null;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "tidegate-emptied-"));
  disk = mountSmallDisk(join(folder, "disk"), DISK_MB);
  server = null;
});
afterEach(async () => {
  await stop("SIGKILL");
  disk?.unmount();
  rmSync(folder, { recursive: true, force: true });
});

async function stop(signal: NodeJS.Signals): Promise<void> {
  const { child } = server ?? {};
  server = null;
  if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
  const gone = once(child, "exit");
  child.kill(signal);
  await gone;
}

/** Starts `tidegate up` on the small disk and returns its endpoint. */
async function up(context: TestContext): Promise<string> {
  if (disk === null) context.skip(NO_SMALL_DISK);
  const data = join(disk?.path ?? folder, "data");
  const run = startCommand(["up", "--port", "0", "--json", "--data", data]);
  server = run;
  await eventually(() => {
    if (run.child.exitCode !== null) return;
    expect(run.printed.out).toContain("\n");
  });
  expect(run.child.exitCode, run.printed.err).toBe(null);
  return (JSON.parse(run.printed.out) as { endpoint: string }).endpoint;
}

interface Answer {
  readonly status: number;
  readonly text: string;
}

async function s3(at: string, method: string, path: string, body?: string): Promise<Answer> {
  const reply = await fetch(`${at}${path}`, { method, ...(body !== undefined && { body }) });
  return { status: reply.status, text: await reply.text() };
}

async function sqs(at: string, action: string, input: object) {
  const reply = await fetch(at, {
    method: "POST",
    headers: {
      "content-type": "application/x-amz-json-1.0",
      "x-amz-target": `AmazonSQS.${action}`,
    },
    body: JSON.stringify(input),
  });
  const text = await reply.text();
  const body = (text === "" ? {} : JSON.parse(text)) as Record<string, unknown>;
  return { status: reply.status, body, text };
}

async function sns(at: string, form: Readonly<Record<string, string>>): Promise<Answer> {
  const reply = await fetch(at, { method: "POST", body: new URLSearchParams(form) });
  return { status: reply.status, text: await reply.text() };
}

function expectFull({ status, text }: Answer, what?: string): void {
  expect({ what, status, full: text.includes(SENTENCE) }).toEqual({
    what,
    status: 503,
    full: true,
  });
  expect(text).not.toMatch(/\n\s+at /);
}

/** Puts objects until one is refused; returns the keys of those that were stored. */
async function fillWithObjects(at: string): Promise<string[]> {
  expect((await s3(at, "PUT", "/bkt")).status).toBe(200);
  const keys: string[] = [];
  for (let number = 0; number < PUTS_MAX; number += 1) {
    const key = `/bkt/o${number}`;
    const put = await s3(at, "PUT", key, OBJECT);
    if (put.status !== 200) {
      expectFull(put);
      return keys;
    }
    keys.push(key);
  }
  throw new Error("the disk never became full");
}

/** Takes the last free bytes, as another program may. */
function takeTheRest(): void {
  for (const bytes of [65_536, 4_096]) {
    for (let number = 0; ; number += 1) {
      try {
        writeFileSync(join(disk?.path ?? folder, `foreign-${bytes}-${number}`), "f".repeat(bytes));
      } catch {
        break;
      }
    }
  }
}

async function fillWithMessages(at: string): Promise<string> {
  const { body } = await sqs(at, "CreateQueue", { QueueName: "q" });
  const QueueUrl = String(body.QueueUrl);
  for (let number = 0; number < PUTS_MAX; number += 1) {
    const sent = await sqs(at, "SendMessage", { QueueUrl, MessageBody: MESSAGE });
    if (sent.status === 200) continue;
    expectFull(sent);
    return QueueUrl;
  }
  throw new Error("the disk never became full");
}

async function expectPut(at: string): Promise<void> {
  await eventually(async () =>
    expect((await s3(at, "PUT", "/bkt/again", OBJECT)).status).toBe(200),
  );
  expect((await s3(at, "GET", "/bkt/again")).text).toBe(OBJECT);
}

async function deleteEach(at: string, keys: readonly string[]): Promise<void> {
  const statuses: number[] = [];
  for (const key of keys) statuses.push((await s3(at, "DELETE", key)).status);
  expect(statuses).toEqual(keys.map(() => 204));
}

describe("a disk full of objects", () => {
  test("can be emptied object by object, and takes new ones", async (context) => {
    const at = await up(context);
    const keys = await fillWithObjects(at);
    takeTheRest();
    expectFull(await s3(at, "PUT", "/bkt/more", OBJECT));
    await deleteEach(at, keys);
    await expectPut(at);
  });

  test("can be emptied by DeleteObjects and AbortMultipartUpload", async (context) => {
    const at = await up(context);
    await s3(at, "PUT", "/bkt");
    const created = await s3(at, "POST", "/bkt/parts?uploads");
    const upload = /<UploadId>([^<]+)/.exec(created.text)?.[1] ?? "";
    const part = await s3(at, "PUT", `/bkt/parts?partNumber=1&uploadId=${upload}`, OBJECT);
    expect(part.status).toBe(200);
    const keys = await fillWithObjects(at);
    takeTheRest();
    expectFull(await s3(at, "PUT", `/bkt/parts?partNumber=2&uploadId=${upload}`, OBJECT));
    const list = keys.map((key) => `<Object><Key>${key.slice(5)}</Key></Object>`).join("");
    const gone = await s3(at, "POST", "/bkt?delete", `<Delete>${list}</Delete>`);
    expect([gone.status, gone.text.match(/<Deleted>/g)?.length]).toEqual([200, keys.length]);
    expect((await s3(at, "DELETE", `/bkt/parts?uploadId=${upload}`)).status).toBe(204);
    await expectPut(at);
  });

  test("can be emptied after a kill and a restart on the full disk", async (context) => {
    const keys = await fillWithObjects(await up(context));
    takeTheRest();
    await stop("SIGKILL");
    const at = await up(context);
    takeTheRest(); // The restart has folded the log.
    expect((await s3(at, "GET", keys[0] ?? "")).text).toBe(OBJECT);
    expectFull(await s3(at, "PUT", "/bkt/more", OBJECT));
    await deleteEach(at, keys.slice(0, 10));
    await stop("SIGKILL");
    const again = await up(context);
    await deleteEach(again, keys.slice(10));
    await expectPut(again);
  });

  test("answers every request that needs space with 503 and the reason", async (context) => {
    const at = await up(context);
    const topic = await sns(at, { Action: "CreateTopic", Name: "t" });
    const TopicArn = /<TopicArn>([^<]+)/.exec(topic.text)?.[1] ?? "";
    const [key = ""] = await fillWithObjects(at);
    const QueueUrl = await fillWithMessages(at);
    // The reload after the failed commit folds the log, which frees some space.
    expect((await s3(at, "GET", "/bkt?list-type=2")).status).toBe(200);
    takeTheRest();
    const copy = await fetch(`${at}/bkt/copy`, {
      method: "PUT",
      headers: { "x-amz-copy-source": key },
    });
    const tags = "<Tagging><TagSet><Tag><Key>a</Key><Value>b</Value></Tag></TagSet></Tagging>";
    const answers: Readonly<Record<string, Answer>> = {
      PutObject: await s3(at, "PUT", "/bkt/more", OBJECT),
      "PutObject without bytes": await s3(at, "PUT", "/bkt/empty", ""),
      CopyObject: { status: copy.status, text: await copy.text() },
      CreateBucket: await s3(at, "PUT", "/bkt2"),
      CreateMultipartUpload: await s3(at, "POST", "/bkt/parts?uploads"),
      PutObjectTagging: await s3(at, "PUT", `${key}?tagging`, tags),
      PutBucketTagging: await s3(at, "PUT", "/bkt?tagging", tags),
      CreateQueue: await sqs(at, "CreateQueue", { QueueName: "q2" }),
      SendMessage: await sqs(at, "SendMessage", { QueueUrl, MessageBody: MESSAGE }),
      "a small SendMessage": await sqs(at, "SendMessage", { QueueUrl, MessageBody: "m" }),
      Publish: await sns(at, { Action: "Publish", TopicArn, Message: MESSAGE }),
      CreateTopic: await sns(at, { Action: "CreateTopic", Name: "t2" }),
    };
    for (const [name, answer] of Object.entries(answers)) expectFull(answer, name);
    expect((await s3(at, "GET", key)).text).toBe(OBJECT);
    expect((await s3(at, "GET", "/bkt?list-type=2")).status).toBe(200);
    expect(server?.printed.err).not.toMatch(/\n\s+at /); // The operator gets sentences, no stacks.
  });
});

describe("a disk full of messages", () => {
  test("can be emptied by a purge, and takes new messages", async (context) => {
    const at = await up(context);
    const QueueUrl = await fillWithMessages(at);
    takeTheRest();
    expect((await sqs(at, "PurgeQueue", { QueueUrl })).status).toBe(200);
    await eventually(async () => {
      const sent = await sqs(at, "SendMessage", { QueueUrl, MessageBody: MESSAGE });
      expect(sent.status).toBe(200);
    });
  });

  test("can be emptied by consumers, also after a kill and a restart", async (context) => {
    const first = await up(context);
    const before = await fillWithMessages(first);
    takeTheRest();
    await stop("SIGKILL");
    const at = await up(context);
    const QueueUrl = new URL(new URL(before).pathname, at).href;
    let received = 0;
    for (;;) {
      const got = await sqs(at, "ReceiveMessage", { QueueUrl, MaxNumberOfMessages: 10 });
      expect(got.status).toBe(200);
      const messages = (got.body.Messages ?? []) as { ReceiptHandle: string; Body: string }[];
      if (messages.length === 0) break;
      received += messages.length;
      const Entries = messages.map(({ ReceiptHandle }, index) => ({
        Id: `${index}`,
        ReceiptHandle,
      }));
      const gone = await sqs(at, "DeleteMessageBatch", { QueueUrl, Entries });
      expect([gone.status, gone.body.Failed ?? []]).toEqual([200, []]);
    }
    expect(received).toBeGreaterThan(50);
    await eventually(async () => {
      const sent = await sqs(at, "SendMessage", { QueueUrl, MessageBody: MESSAGE });
      expect(sent.status).toBe(200);
    });
  });
});
