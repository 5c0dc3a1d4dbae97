// Put with event: clients put, copy, complete and delete objects while the server is killed; after
// every restart, what it holds is compared with what it told.
//   E1. A put that was answered is there, with its bytes, and its event was sent exactly once.
//   E2. A put that was not answered is there with its event, or neither is.
//   E3. No file is left that no object needs, once the start has swept.
//   E4. Sequencers of a key grow over crashes.

import { existsSync, readdirSync } from "node:fs";
import { Agent, request } from "node:http";
import { join } from "node:path";
import { type ChildServer, startChild } from "../../bench/broker/child-server.ts";
import { createSeededRandom } from "./seeded-random.ts";
import { SERVER_ARGS } from "./servers.ts";

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

interface Attempt {
  readonly key: string;
  readonly body: string;
  answered: boolean;
}

export interface PutCrashResult {
  readonly crashes: number;
  readonly puts: number;
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
  readonly key: string;
  readonly eTag: string;
  readonly sequencer: string;
}

async function setUp(client: Client): Promise<void> {
  await client.sqs("CreateQueue", { QueueName: "events" });
  await client.call("PUT", "/crash");
  const arn = "arn:aws:sqs:us-east-1:000000000000:events";
  await client.call(
    "PUT",
    "/crash?notification",
    `<NotificationConfiguration><QueueConfiguration><Queue>${arn}</Queue>` +
      "<Event>s3:ObjectCreated:*</Event></QueueConfiguration></NotificationConfiguration>",
  );
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
      for (const record of JSON.parse(Body).Records ?? []) events.push(record.s3.object);
      await client.sqs("DeleteMessage", { QueueUrl: QUEUE, ReceiptHandle });
    }
  }
}

/** Holds what the server has against what it told (E1, E2). */
async function compare(client: Client, attempts: readonly Attempt[], violations: string[]) {
  const events = await takeEvents(client);
  const counts = new Map<string, number>();
  for (const { key } of events) counts.set(key, (counts.get(key) ?? 0) + 1);
  for (const { key, body, answered } of attempts) {
    const found = await client.call("GET", `/crash/${key}`);
    const there = found?.status === 200;
    const told = counts.get(key) ?? 0;
    if (there && found.body !== body) violations.push(`${key} has other bytes`);
    if (answered && !there) violations.push(`${key} was answered and is lost`);
    if (there && told !== 1) violations.push(`${key} is there and has ${told} events`);
    if (!there && told > 0) violations.push(`${key} has an event and is not there`);
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

async function work(server: ChildServer, round: number, seed: number): Promise<Attempt[]> {
  const random = createSeededRandom(seed);
  const client = new Client(server.port);
  const attempts: Attempt[] = [];
  let dead = false;
  const loops = Array.from({ length: CLIENTS }, async (_, number) => {
    for (let count = 0; !dead; count += 1) {
      const key = `r${round}-c${number}-${count}`;
      const attempt = { key, body: `${key} `.repeat(random.between(1, 2_000)), answered: false };
      attempts.push(attempt);
      const answer = await client.call("PUT", `/crash/${key}`, attempt.body);
      if (answer === null) return;
      attempt.answered = answer.status === 200;
    }
  });
  await sleepMs(random.between(WORK_MS_MIN, WORK_MS_MAX));
  await server.kill();
  dead = true;
  await Promise.all(loops);
  client.close();
  return attempts;
}

export async function runPutCrashes(folder: string, crashes: number, seed: number) {
  const result = { crashes: 0, puts: 0, events: 0, violations: [] as string[] };
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
      await checkFiles(folder, await countObjects(client), result.violations);
      result.puts += attempts.filter(({ answered }) => answered).length;
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
