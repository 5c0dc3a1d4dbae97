// Put with event: clients put, copy, complete and delete objects while the server is killed. After
// every restart, its state is compared with its responses.
//   E1. An acknowledged request was carried out: the object exists with its bytes, or is gone if it
//       was deleted, and each of the two has its event exactly once.
//   E2. An unanswered request was carried out together with its event, or neither was.
//   E3. After the sweep at start, no file remains that no object needs.
//   E4. Sequencers of a key grow over crashes.
//   E5. Half of the keys notify a queue of their creation, half a topic that the queue subscribes
//       to; all notify the queue of their removal.
//   E6. Every second kill waits until each client has had a reply, however slow the machine is: a
//       server that is killed before its first reply proves nothing.

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
  /** Objects whose creation was acknowledged, by how they were created. */
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

  /** Null if the server was killed before it responded. */
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

interface ReceivedEvent {
  readonly name: string;
  readonly key: string;
  readonly eTag: string;
  readonly sequencer: string;
}

async function setup(client: Client): Promise<void> {
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
  if (configured?.status !== 200) throw new Error(`setup: ${configured?.body}`);
}

/** Receives and deletes every event in the queue. */
async function drainEvents(client: Client): Promise<ReceivedEvent[]> {
  const events: ReceivedEvent[] = [];
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

/** Compares the server's objects and events with its responses (E1, E2). */
async function compare(client: Client, attempts: readonly Attempt[], violations: string[]) {
  const events = await drainEvents(client);
  const counts = new Map<string, number>();
  for (const { key, name } of events) {
    const of = `${name.split(":")[0]} ${key}`;
    counts.set(of, (counts.get(of) ?? 0) + 1);
  }
  for (const { key, body, answered, deletion } of attempts) {
    const reply = await client.call("GET", `/crash/${key}`);
    const there = reply?.status === 200;
    const created = counts.get(`ObjectCreated ${key}`) ?? 0;
    const removed = counts.get(`ObjectRemoved ${key}`) ?? 0;
    const count = `${created} created events and ${removed} removed events`;
    if (there && reply.body !== body) violations.push(`${key} has other bytes`);
    if (answered && created !== 1) violations.push(`${key} was acknowledged and has ${count}`);
    if (deletion === "answered" && removed !== 1)
      violations.push(`${key}was deleted and has ${count}`);
    if (deletion === "none" && removed > 0)
      violations.push(`${key} was not deleted and has ${count}`);
    const whole = created <= 1 && removed <= created && there === (created - removed === 1);
    if (!whole) violations.push(`${key} ${there ? "exists" : "is missing"} and has ${count}`);
  }
  return events;
}

/** Waits, for a limited time, until the files are exactly those that objects need (E3). */
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

/** Aborts uploads that the crash left open: they are not objects, but have files. */
async function abortUploads(client: Client): Promise<void> {
  const page = await client.call("GET", "/crash?uploads");
  const open = (page?.body ?? "").matchAll(/<Key>([^<]+)<\/Key><UploadId>([^<]+)</g);
  for (const [, key, id] of open) await client.call("DELETE", `/crash/${key}?uploadId=${id}`);
}

/** Creates one object; true if acknowledged, null if the server was killed. */
async function make(client: Client, { key, body, way }: Attempt): Promise<boolean | null> {
  const at = `/crash/${key}`;
  if (way === "put" || way === "delete") {
    const answer = await client.call("PUT", at, body);
    return answer && answer.status === 200;
  }
  if (way === "copy") {
    // No notification rule matches the source, so it has no event.
    if ((await client.call("PUT", `/crash/source-${key}`, body)) === null) return null;
    const headers = { "x-amz-copy-source": `/crash/source-${key}` };
    const answer = await client.call("PUT", at, "", headers);
    return answer && answer.status === 200 && answer.body.includes("<ETag>");
  }
  const started = await client.call("POST", `${at}?uploads`);
  const id = /<UploadId>([^<]+)</.exec(started?.body ?? "")?.[1];
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
  let killed = false;
  const firstReplies = Array.from({ length: CLIENTS }, () => Promise.withResolvers<void>());
  const loops = Array.from({ length: CLIENTS }, async (_, number) => {
    for (let count = 0; !killed; count += 1) {
      const key = `${random.between(0, 1) === 0 ? "q" : "t"}-r${round}-c${number}-${count}`;
      // In turn, so that a short run makes every way.
      const way = WAYS[(round + number + count) % WAYS.length] ?? "put";
      const body = `${key} `.repeat(random.between(1, 2_000));
      const attempt: Attempt = { key, body, way, answered: false, deletion: "none" };
      attempts.push(attempt);
      const made = await make(client, attempt);
      firstReplies[number]?.resolve();
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
  // E6
  if (round % 2 === 1) await Promise.all(firstReplies.map(({ promise }) => promise));
  await server.kill();
  killed = true;
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
      if (round === 0) await setup(client);
      const events = await compare(client, attempts, result.violations);
      for (const { sequencer } of events) {
        if (sequencer <= highest) result.violations.push(`sequencer ${sequencer} decreased`); // E4
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
