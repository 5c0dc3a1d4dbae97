// Put with event: clients put, copy, complete and delete objects while the server is killed; after
// every restart, what it holds is compared with what it told.
//   E1. What was answered is done: the object is there with its bytes, or gone if it was deleted,
//       and each of both had its event exactly once.
//   E2. What was not answered is done with its event, or neither is.
//   E3. No file is left that no object needs, once the start has swept.
//   E4. Sequencers of a key grow over crashes.
//   E5. Half of the keys tell a queue of their making, half a topic that the queue subscribes to;
//       all tell the queue of their end.

import { createHash } from "node:crypto";
import { existsSync, readdirSync } from "node:fs";
import { Agent, request } from "node:http";
import { join } from "node:path";
import { type ChildServer, startChild } from "../../bench/broker/child-server.ts";
import { createSeededRandom } from "../../src/core/seeded-random.ts";
import { SERVER_ARGS } from "../support/crash/servers.ts";

const CLIENTS = 6;
const WORK_MS_MIN = 20;
const WORK_MS_MAX = 400;
const SWEEP_TRIES_MAX = 100;
const SWEEP_WAIT_MS = 50;
const QUEUE = "/000000000000/events";

const sleepMs = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

interface Answer {
  readonly status: number;
  readonly body: string;
}

type Way = "put" | "copy" | "complete" | "delete";
const WAYS: readonly Way[] = ["put", "put", "copy", "complete", "delete"];

interface Attempt {
  readonly key: string;
  readonly body: string;
  readonly way: Way;
  answered: boolean;
  deletion: "none" | "asked" | "answered";
}

export interface PutCrashResult {
  readonly crashes: number;
  /** Objects whose making was answered, by the way they were made. */
  readonly made: Record<Way, number>;
  readonly events: number;
  readonly violations: string[];
}

class Client {
  readonly #agent = new Agent({ keepAlive: true, maxSockets: CLIENTS * 2 });
  readonly #port: number;

  constructor(port: number) {
    this.#port = port;
  }

  /** Null when the server died before it answered. */
  call(method: string, path: string, body = "", headers: object = {}): Promise<Answer | null> {
    return new Promise((resolve) => {
      const length = { "content-length": String(Buffer.byteLength(body)) };
      const options = { host: "127.0.0.1", port: this.#port, method, path, agent: this.#agent };
      const sent = request({ ...options, headers: { ...length, ...headers } }, (reply) => {
        const chunks: Buffer[] = [];
        reply.on("data", (chunk: Buffer) => chunks.push(chunk));
        reply.on("error", () => resolve(null));
        reply.on("aborted", () => resolve(null));
        reply.on("end", () =>
          resolve({ status: reply.statusCode ?? 0, body: Buffer.concat(chunks).toString() }),
        );
      });
      sent.on("error", () => resolve(null));
      sent.end(body);
    });
  }

  sns(parameters: Readonly<Record<string, string>>): Promise<Answer | null> {
    const headers = { "content-type": "application/x-www-form-urlencoded" };
    return this.call("POST", "/", new URLSearchParams(parameters).toString(), headers);
  }

  sqs(action: string, input: object): Promise<Answer | null> {
    const headers = {
      "content-type": "application/x-amz-json-1.0",
      "x-amz-target": `AmazonSQS.${action}`,
    };
    return this.call("POST", "/", JSON.stringify(input), headers);
  }

  close(): void {
    this.#agent.destroy();
  }
}

interface SeenEvent {
  readonly name: string;
  readonly key: string;
  readonly eTag: string;
  readonly sequencer: string;
}

async function setUp(client: Client): Promise<void> {
  const queue = "arn:aws:sqs:us-east-1:000000000000:events";
  const topic = "arn:aws:sns:us-east-1:000000000000:events";
  await client.sqs("CreateQueue", { QueueName: "events" });
  await client.sns({ Action: "CreateTopic", Name: "events" });
  await client.sns({
    Action: "Subscribe",
    TopicArn: topic,
    Protocol: "sqs",
    Endpoint: queue,
    "Attributes.entry.1.key": "RawMessageDelivery",
    "Attributes.entry.1.value": "true",
  });
  await client.call("PUT", "/crash");
  const rule = (target: string, arn: string, event: string, prefix: string) =>
    `<${target}Configuration><${target}>${arn}</${target}><Event>s3:${event}:*</Event>` +
    `<Filter><S3Key><FilterRule><Name>prefix</Name><Value>${prefix}</Value></FilterRule></S3Key>` +
    `</Filter></${target}Configuration>`;
  const rules =
    rule("Queue", queue, "ObjectCreated", "q-") + // E5
    rule("Topic", topic, "ObjectCreated", "t-") +
    rule("Queue", queue, "ObjectRemoved", "");
  const document = `<NotificationConfiguration>${rules}</NotificationConfiguration>`;
  const configured = await client.call("PUT", "/crash?notification", document);
  if (configured?.status !== 200) throw new Error(`set-up: ${configured?.body}`);
}

/** Every event that waits, by the key and ETag it tells of; taken out of the queue. */
async function takeEvents(client: Client): Promise<SeenEvent[]> {
  const events: SeenEvent[] = [];
  for (;;) {
    const input = { QueueUrl: QUEUE, MaxNumberOfMessages: 10 };
    const answer = await client.sqs("ReceiveMessage", input);
    const { Messages = [] } = JSON.parse(answer?.body || "{}");
    if (Messages.length === 0) return events;
    for (const { Body, ReceiptHandle } of Messages) {
      for (const { eventName, s3 } of JSON.parse(Body).Records ?? []) {
        events.push({ name: eventName, ...s3.object });
      }
      await client.sqs("DeleteMessage", { QueueUrl: QUEUE, ReceiptHandle });
    }
  }
}

/** Holds what the server has against what it told (E1, E2). */
async function compare(client: Client, attempts: readonly Attempt[], violations: string[]) {
  const events = await takeEvents(client);
  const counts = new Map<string, number>();
  for (const { key, name } of events) {
    const of = `${name.split(":")[0]} ${key}`;
    counts.set(of, (counts.get(of) ?? 0) + 1);
  }
  for (const { key, body, answered, deletion } of attempts) {
    const found = await client.call("GET", `/crash/${key}`);
    const there = found?.status === 200;
    const created = counts.get(`ObjectCreated ${key}`) ?? 0;
    const removed = counts.get(`ObjectRemoved ${key}`) ?? 0;
    const told = `${created} events of its making and ${removed} of its end`;
    if (there && found.body !== body) violations.push(`${key} has other bytes`);
    if (answered && created !== 1) violations.push(`${key} was answered and has ${told}`);
    if (deletion === "answered" && removed !== 1) violations.push(`${key}, deleted, has ${told}`);
    if (deletion === "none" && removed > 0) violations.push(`${key} was let be and has ${told}`);
    const whole = created <= 1 && removed <= created && there === (created - removed === 1);
    if (!whole) violations.push(`${key} is ${there ? "" : "not "}there and has ${told}`);
  }
  return events;
}

/** Waits until the files are those that the objects need, as far as they ever are (E3). */
async function checkFiles(folder: string, expected: number, violations: string[]): Promise<void> {
  const blobs = join(folder, "blobs");
  const count = () =>
    existsSync(blobs)
      ? readdirSync(blobs, { recursive: true, encoding: "utf8" }).filter((name) =>
          /[0-9a-f]{32}$/.test(name),
        ).length
      : 0;
  for (let tries = 0; count() !== expected && tries < SWEEP_TRIES_MAX; tries += 1) {
    await sleepMs(SWEEP_WAIT_MS);
  }
  if (count() !== expected) violations.push(`${count()} files for ${expected} objects`);
}

async function countObjects(client: Client): Promise<number> {
  let count = 0;
  for (let after = ""; ; ) {
    const from = `&start-after=${encodeURIComponent(after)}`;
    const page = await client.call("GET", `/crash?list-type=2${after === "" ? "" : from}`);
    const keys = [...(page?.body ?? "").matchAll(/<Key>([^<]+)<\/Key>/g)].map(([, key]) => key!);
    count += keys.length;
    if (!page?.body.includes("<IsTruncated>true")) return count;
    after = keys.at(-1) ?? "";
  }
}

/** Uploads that the crash left open are no objects, but have files; they are ended here. */
async function abortUploads(client: Client): Promise<void> {
  const page = await client.call("GET", "/crash?uploads");
  const open = (page?.body ?? "").matchAll(/<Key>([^<]+)<\/Key><UploadId>([^<]+)</g);
  for (const [, key, id] of open) await client.call("DELETE", `/crash/${key}?uploadId=${id}`);
}

/** Makes one object; whether that was answered, or null when the server died. */
async function make(client: Client, { key, body, way }: Attempt): Promise<boolean | null> {
  const at = `/crash/${key}`;
  if (way === "put" || way === "delete") {
    const answer = await client.call("PUT", at, body);
    return answer && answer.status === 200;
  }
  if (way === "copy") {
    // The source is outside of the rules, and so has no event.
    if ((await client.call("PUT", `/crash/source-${key}`, body)) === null) return null;
    const headers = { "x-amz-copy-source": `/crash/source-${key}` };
    const answer = await client.call("PUT", at, "", headers);
    return answer && answer.status === 200 && answer.body.includes("<ETag>");
  }
  const begun = await client.call("POST", `${at}?uploads`);
  const id = /<UploadId>([^<]+)</.exec(begun?.body ?? "")?.[1];
  if (id === undefined) return null;
  if ((await client.call("PUT", `${at}?uploadId=${id}&partNumber=1`, body)) === null) return null;
  const etag = createHash("md5").update(body).digest("hex");
  const list = `<Part><PartNumber>1</PartNumber><ETag>"${etag}"</ETag></Part>`;
  const document = `<CompleteMultipartUpload>${list}</CompleteMultipartUpload>`;
  const answer = await client.call("POST", `${at}?uploadId=${id}`, document);
  return answer && answer.status === 200;
}

async function work(server: ChildServer, round: number, seed: number): Promise<Attempt[]> {
  const random = createSeededRandom(seed);
  const client = new Client(server.port);
  const attempts: Attempt[] = [];
  let dead = false;
  const loops = Array.from({ length: CLIENTS }, async (_, number) => {
    for (let count = 0; !dead; count += 1) {
      const key = `${random.between(0, 1) === 0 ? "q" : "t"}-r${round}-c${number}-${count}`;
      const way = WAYS[random.between(0, WAYS.length - 1)] ?? "put";
      const body = `${key} `.repeat(random.between(1, 2_000));
      const attempt: Attempt = { key, body, way, answered: false, deletion: "none" };
      attempts.push(attempt);
      const made = await make(client, attempt);
      if (made === null) return;
      attempt.answered = made;
      if (way !== "delete") continue;
      attempt.deletion = "asked";
      const deleted = await client.call("DELETE", `/crash/${key}`);
      if (deleted === null) return;
      if (deleted.status === 204) attempt.deletion = "answered";
    }
  });
  await sleepMs(random.between(WORK_MS_MIN, WORK_MS_MAX));
  await server.kill();
  dead = true;
  await Promise.all(loops);
  client.close();
  return attempts;
}

const noneMade = (): Record<Way, number> => ({ put: 0, copy: 0, complete: 0, delete: 0 });

export async function runPutCrashes(folder: string, crashes: number, seed: number) {
  const result = { crashes: 0, made: noneMade(), events: 0, violations: [] as string[] };
  let attempts: Attempt[] = [];
  let highest = "";
  for (let round = 0; round <= crashes && result.violations.length === 0; round += 1) {
    const server = await startChild({ args: SERVER_ARGS.tidegate()(folder) });
    const client = new Client(server.port);
    try {
      if (round === 0) await setUp(client);
      const events = await compare(client, attempts, result.violations);
      for (const { sequencer } of events) {
        if (sequencer <= highest) result.violations.push(`sequencer ${sequencer} went back`); // E4
      }
      highest = [highest, ...events.map(({ sequencer }) => sequencer)].toSorted().at(-1) ?? "";
      await abortUploads(client);
      await checkFiles(folder, await countObjects(client), result.violations);
      for (const { way, answered } of attempts) result.made[way] += answered ? 1 : 0;
      result.events += events.length;
      result.crashes = round;
      if (round < crashes) attempts = await work(server, round, seed * 1_000 + round);
    } finally {
      client.close();
      await server.kill();
    }
  }
  return result satisfies PutCrashResult;
}
