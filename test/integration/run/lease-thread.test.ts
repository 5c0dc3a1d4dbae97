// The lease renewer on its own thread, against an embedded cloud in another process: the
// main thread of this process is blocked for longer than the visibility of its message.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { CreateQueueCommand, SQSClient } from "@aws-sdk/client-sqs";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { createSqsQueue } from "../../../src/aws/sqs/sqs-queue.ts";
import { present } from "../../../src/core/assert.ts";
import { type DurationMs, seconds } from "../../../src/core/units.ts";
import { createLeaseRenewer } from "../../../src/ingest/running/lease-renewer.ts";
import { SILENT } from "../../../src/ingest/telemetry/silent-telemetry.ts";
import { asRecordKey } from "../../../src/ledger/record-state.ts";
import type { HeldLease, LeaseRenewer } from "../../../src/ports/lease-renewer.ts";
import type { Queue } from "../../../src/ports/queue-receiver.ts";
import type { LogLevel } from "../../../src/ports/telemetry.ts";
import { type LeaseThreadConfig, startLeaseThread } from "../../../src/run/leases/lease-thread.ts";
import { openLedger } from "../../../src/run/open/open-ledger.ts";
import { ANY_INPUT } from "../../support/stores/any-input.ts";
import { random, systemClock, turn } from "../../support/stores/real-ports.ts";

const V = seconds(3);
/** For tests that start a process or a thread while the lease runs, on a busy machine. */
const LONG_V = seconds(12);
/** Twice the visibility, and more. */
const BLOCKED_MS = 7_000;
const SCOPE = { pipeline: "p", generation: 1 };
const credentials = { accessKeyId: "any", secretAccessKey: "any" };
const region = "us-east-1";
const never = new AbortController().signal;
const main = fileURLToPath(new URL("../../../src/cli/main.ts", import.meta.url));
const freezeWorker = fileURLToPath(new URL("./lease-freeze-worker.ts", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "tidegate-lease-thread-"));
const ledgerUrl = `sqlite:${join(folder, "ledger.db")}`;

let cloud: ChildProcess;
let endpoint: string;
let client: SQSClient;
let queuesMade = 0;
const renewers: LeaseRenewer[] = [];
const logged: string[] = [];
const telemetry = {
  log: (level: LogLevel, message: string) => void logged.push(`${level}: ${message}`),
};

beforeAll(async () => {
  const words = ["up", "--json", "--port", "0", "--memory"];
  cloud = spawn(process.execPath, [main, ...words], { stdio: ["ignore", "pipe", "inherit"] });
  const [line] = await once(present(cloud.stdout, "its output"), "data");
  endpoint = JSON.parse(String(line)).endpoint;
  client = new SQSClient({ endpoint, region, credentials, maxAttempts: 1 });
});
afterEach(async () => {
  for (const renewer of renewers.splice(0)) await renewer.close();
});
afterAll(async () => {
  client.destroy();
  cloud.kill();
  await once(cloud, "exit");
  rmSync(folder, { recursive: true, force: true });
});

interface NewQueue {
  readonly queue: Queue;
  readonly queueUrl: string;
}

/** A queue with one message. */
async function createQueue(): Promise<NewQueue> {
  queuesMade += 1;
  const create = new CreateQueueCommand({ QueueName: `q${queuesMade}` });
  const { QueueUrl: queueUrl = "" } = await client.send(create);
  const queue = createSqsQueue({ client, queueUrl });
  await queue.sendBatch([{ body: "a", attributes: {}, groupId: null, dedupId: null }]);
  return { queue, queueUrl };
}

async function leaseFrom(queue: Queue, visibilityMs: DurationMs = V): Promise<HeldLease> {
  const since = systemClock.now();
  const request = { max: 1, waitMs: seconds(0), visibilityMs };
  const [delivery] = await queue.receive(request, never);
  const { receipt, receiveCount } = present(delivery, "the message");
  expect(receiveCount).toBe(1);
  return { receipt, since };
}

/** A queue with one message, which we have received. */
async function receiveOne(
  visibilityMs: DurationMs = V,
): Promise<NewQueue & { readonly lease: HeldLease }> {
  const { queue, queueUrl } = await createQueue();
  return { queue, queueUrl, lease: await leaseFrom(queue, visibilityMs) };
}

const configOf = (queueUrl: string, visibilityMs: DurationMs = V): LeaseThreadConfig => ({
  queue: { queueUrl, endpoint, region, credentials },
  ledgerUrl: null,
  scope: SCOPE,
  visibilityMs,
  leaseMs: visibilityMs,
});
async function startThread(config: LeaseThreadConfig, entry?: URL): Promise<LeaseRenewer> {
  const renewer = await startLeaseThread({ telemetry }, config, entry);
  renewers.push(renewer);
  return renewer;
}

/** Keeps this thread from doing anything else, as a handler that computes would. */
function block(): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, BLOCKED_MS);
}

/** How often the message had been delivered when another got it. */
async function rivalCount(queue: Queue): Promise<number> {
  const request = { max: 1, waitMs: seconds(20), visibilityMs: V };
  const [delivery] = await queue.receive(request, never);
  return present(delivery, "the message").receiveCount;
}

test("a blocked main thread loses neither its delivery nor its claim", async () => {
  const ledger = await openLedger(ledgerUrl, { clock: systemClock, turn, random });
  const { queue, queueUrl } = await createQueue();
  const renewer = await startThread({ ...configOf(queueUrl), ledgerUrl });
  const lease = await leaseFrom(queue); // After the thread has started, which takes a while.
  const lost: string[] = [];
  renewer.track(lease, (reason) => lost.push(reason));
  const requests = [{ key: asRecordKey("k1:a"), input: ANY_INPUT, receivedAt: lease.since }];
  const claim = (owner: string) => ledger.claim(SCOPE, requests, { owner, leaseMs: V });
  const [mine] = await claim("me");
  if (mine?.kind !== "claimed") throw new Error("the claim was refused");
  const held = { key: asRecordKey("k1:a"), fence: mine.fence };
  renewer.attach(lease.receipt, held, lease.since);
  await Promise.resolve();
  block();
  expect(renewer.alive(lease.receipt)).toBe(true);
  expect(await claim("other")).toMatchObject([{ kind: "busy" }]);
  const now = { max: 1, waitMs: seconds(0), visibilityMs: V };
  expect(await queue.receive(now, never)).toEqual([]);
  expect(lost).toEqual([]);
  renewer.detach(lease.receipt, held);
  renewer.release(lease.receipt);
  expect(await rivalCount(queue)).toBe(2);
  await ledger.close();
});

test("the same on the main thread loses it, and knows before anything else is done", async () => {
  const { queue, lease } = await receiveOne();
  const ports = { queue, ledger: null, scope: SCOPE, clock: systemClock, telemetry: SILENT };
  const renewer = createLeaseRenewer(ports, { visibilityMs: V, leaseMs: V });
  renewers.push(renewer);
  renewer.track(lease, () => {});
  block();
  expect(renewer.alive(lease.receipt)).toBe(false);
  expect(await rivalCount(queue)).toBe(2);
});

test("a process that was paused past its lease notices it when it continues", async () => {
  const { queue, queueUrl, lease } = await receiveOne(LONG_V);
  const words = [freezeWorker, JSON.stringify({ config: configOf(queueUrl, LONG_V), lease })];
  const child = spawn(process.execPath, words, { stdio: ["pipe", "pipe", "inherit"] });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const next = async () => (await lines.next()).value;
  expect(await next()).toBe("held");
  child.stdin.write("?\n");
  expect(await next()).toBe("alive");
  child.kill("SIGSTOP");
  expect(await rivalCount(queue)).toBe(2); // So its visibility has run out by now.
  child.stdin.write("?\n");
  child.kill("SIGCONT");
  expect([await next(), await next()].toSorted()).toEqual(["lost", "over"]);
  child.kill("SIGKILL");
  await once(child, "exit");
});

test("a lost lease is reported once and is no longer alive", async () => {
  const { queue, queueUrl, lease } = await receiveOne(LONG_V);
  const renewer = await startThread(configOf(queueUrl, LONG_V));
  await queue.deleteBatch([lease.receipt]);
  const reason = await new Promise<string>((resolve) => renewer.track(lease, resolve));
  expect(reason).toMatch(/does not exist/);
  expect(renewer.alive(lease.receipt)).toBe(false);
});

test("a thread that dies takes every lease with it, and says so", async () => {
  const code = `
    import { parentPort } from "node:worker_threads";
    parentPort.on("message", () => { throw new Error("out of memory"); });
    parentPort.postMessage({ kind: "ready" });`;
  const entry = new URL(`data:text/javascript,${encodeURIComponent(code)}`);
  const renewer = await startThread(configOf(`${endpoint}/000000000000/none`), entry);
  const since = systemClock.now();
  const hold = (receipt: string) =>
    new Promise<string>((resolve) => renewer.track({ receipt, since }, resolve));
  const reasons = await Promise.all([hold("a"), hold("b")]);
  expect(reasons).toEqual(Array.from({ length: 2 }, () => expect.stringMatching(/out of memory/)));
  expect(renewer.alive("a")).toBe(false);
  expect(await hold("c")).toMatch(/out of memory/);
  expect(await renewer.ended).toMatch(/out of memory/);
  expect(logged).toContainEqual(expect.stringMatching(/^error: .*out of memory; 2 leases lost/));
});

test("a thread that cannot renew claims does not start", async () => {
  const config = configOf(`${endpoint}/000000000000/none`);
  await expect(startThread({ ...config, ledgerUrl: "memory:" })).rejects.toMatchObject({
    code: "TG_CONFIG_INVALID",
  });
  const absent = `sqlite:${join(folder, "absent.db")}`;
  await expect(startThread({ ...config, ledgerUrl: absent })).rejects.toMatchObject({
    name: "TidegateError",
    message: expect.stringMatching(/absent\.db/),
  });
});
