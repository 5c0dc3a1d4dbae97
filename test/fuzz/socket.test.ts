// The server under fuzzing: mutated requests and random bytes over real sockets do not crash it,
// its replies stay well-formed, and an unrelated queue does not change.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createSeededRandom } from "../../src/core/seeded-random.ts";
import { createMutant } from "./mutations.ts";
import { breakBytes, exchange, frame, readReply } from "./raw-exchange.ts";
import { ACTIONS, type Draft, jsonDraft, pick } from "./sqs-requests.ts";
import { replyFault } from "./well-formed.ts";

const COUNT = Number(process.env.TIDEGATE_FUZZ_SOCKETS ?? 2_000);
const SEED = Number(process.env.TIDEGATE_FUZZ_SEED ?? 1);
const AT_ONCE = 16;
/** Statuses with which the listener may refuse a request before a protocol reads it. */
const LISTENER_STATUSES = [400, 408, 413, 414, 417, 431, 501, 505];

let server: ChildProcess;
let port = 0;
let errors = "";
const tally = new Map<number, number>();

beforeAll(async () => {
  const flags = ["src/cli/main.ts", "up", "--memory", "--port", "0"];
  server = spawn(process.execPath, flags, { stdio: ["ignore", "pipe", "pipe"] });
  server.stderr?.on("data", (chunk) => {
    errors += chunk;
  });
  let printed = "";
  for await (const chunk of server.stdout ?? []) {
    printed += chunk;
    port = Number(/http:\/\/127\.0\.0\.1:(\d+)/.exec(printed)?.[1] ?? 0);
    if (port !== 0) break;
  }
  if (port === 0) throw new Error(`the server did not start: ${printed}${errors}`);
});

afterAll(async () => {
  if (server.exitCode !== null) return;
  server.kill("SIGTERM");
  await once(server, "exit");
});

async function call(action: string, fields: object): Promise<string> {
  const draft = jsonDraft(action, JSON.stringify(fields));
  const reply = readReply(await exchange(port, frame(draft, "close"), false));
  if (reply?.status !== 200) throw new Error(`${action}: ${reply?.status} ${reply?.body}`);
  return reply.body;
}

async function get(path: string): Promise<string> {
  const head = `GET ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n\r\n`;
  const reply = readReply(await exchange(port, Buffer.from(head), false));
  if (reply?.status !== 200) throw new Error(`${path}: ${reply?.status} ${reply?.body}`);
  return reply.body;
}

/** Disables long polling, because this server runs on real time. */
function withoutWaiting(draft: Draft): Draft {
  const text = draft.body.toString("latin1").replaceAll("WaitTimeSeconds", "WaitTimeSecondz");
  return { ...draft, body: Buffer.from(text, "latin1") };
}

/** New queues for each round: the name of a deleted queue is blocked for a minute. */
async function createTargets(round: number): Promise<string[]> {
  const [standard, fifo] = [`target-${round}`, `target-${round}.fifo`];
  await call("CreateQueue", { QueueName: standard });
  await call("CreateQueue", { QueueName: fifo, Attributes: { FifoQueue: "true" } });
  return [standard, fifo];
}

/** Sends request number `index`, complete or broken; returns what is wrong with the reply. */
async function tryRequest(index: number, queues: readonly string[]): Promise<string | null> {
  const random = createSeededRandom(SEED ^ Math.imul(index + 1, 0x9e3779b1));
  const subjects = { queues, handles: ["none"] };
  const draft = withoutWaiting(createMutant(random, pick(random, Object.keys(ACTIONS)), subjects));
  const complete = frame(draft, random.below(4) === 0 ? "close" : "keep-alive");
  const broken = random.below(2) === 0;
  const bytes = broken ? breakBytes(random, complete) : complete;
  const answer = await exchange(port, bytes, broken);
  if (answer.length === 0 && broken) return null;
  const reply = readReply(answer);
  const sent = bytes.toString("latin1").slice(0, 600);
  if (reply === null) return `no reply to ${sent}`;
  tally.set(reply.status, (tally.get(reply.status) ?? 0) + 1);
  const unread = LISTENER_STATUSES.includes(reply.status) && !("content-type" in reply.headers);
  if (unread) return null;
  const fault = replyFault(reply, draft.method);
  return fault === null ? null : `${fault}: ${reply.body.slice(0, 300)} to ${sent}`;
}

test(`${COUNT} mutated or broken requests (seed ${SEED}) do not crash the server`, async () => {
  await call("CreateQueue", { QueueName: "canary", tags: { song: "yes" } });
  for (const MessageBody of ["one", "two"]) {
    await call("SendMessage", { QueueUrl: "canary", MessageBody });
  }
  const before = await get("/_tidegate/queues/canary/messages");
  for (let index = 0; index < COUNT; index += AT_ONCE) {
    const numbers = Array.from({ length: AT_ONCE }, (_, offset) => index + offset);
    const queues = await createTargets(index);
    const faults = await Promise.all(numbers.map((number) => tryRequest(number, queues)));
    expect(faults.filter((fault) => fault !== null)).toEqual([]);
    await get("/_tidegate/health");
  }
  expect(await get("/_tidegate/queues/canary/messages")).toBe(before);
  console.log(`sockets: seed ${SEED}, replies by status`, Object.fromEntries(tally));
  expect(tally.get(200) ?? 0).toBeGreaterThan(COUNT / 20);
  expect(server.exitCode).toBeNull();
  expect(errors).not.toMatch(/unhandled|uncaught|invariant/i);
});
