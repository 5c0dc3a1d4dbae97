// Fuzz campaign: sends mutated requests to the broker's HTTP function and checks every response.
//   Z1. Each request has its own random stream, derived from the seed and its number.
//   Z2. A refused request changes nothing: for every tenth request, the observable state of the
//       canary queue and the list of queues is compared before and after.
//   Z3. Every request is answered; waiting ones are answered once time has passed.

import { isDeepStrictEqual } from "node:util";
import type { Broker } from "../../src/broker/engine/broker.ts";
import type { OperationInput, OperationName } from "../../src/broker/model/operations.ts";
import { createSeededRandom } from "../../src/core/seeded-random.ts";
import { durationMs } from "../../src/core/units.ts";
import type { HttpHandler, HttpReply } from "../../src/ports/http/http.ts";
import { drain, type ManualTime } from "../support/broker/manual-time.ts";
import { createMutant } from "./mutations.ts";
import { ACTIONS, type Draft, pick } from "./sqs-requests.ts";
import { type Reply, replyFault } from "./well-formed.ts";

const BATCH = 32;
const ROUNDS_MAX = 200;
const CANARY = "canary";
const CANARY_EVERY = 10;
const TARGETS = ["target", "target.fifo", "target-dead"] as const;
const DUMP_CHARS = 600;

export interface Rig {
  readonly broker: Broker;
  readonly http: HttpHandler;
  readonly time: ManualTime;
}

/** Responses by status; a campaign with only refusals proves little. */
export type Tally = Map<number, number>;

function readReply(reply: HttpReply): Reply {
  const headers: Record<string, string> = {};
  for (let i = 0; i < reply.headers.length; i += 2) {
    headers[String(reply.headers[i]).toLowerCase()] = String(reply.headers[i + 1]);
  }
  const content = reply.body;
  if (typeof content !== "string" && !(content instanceof Uint8Array))
    throw new Error("a streamed body");
  const body = typeof content === "string" ? content : Buffer.from(content).toString();
  return { status: reply.status, headers, body };
}

/** Waits for the promise and advances time if nothing else happens. */
async function waitFor<T>(rig: Rig, work: Promise<T>): Promise<T> {
  let settled = false;
  work.then(
    () => {
      settled = true;
    },
    () => {
      settled = true;
    },
  );
  for (let round = 0; round < ROUNDS_MAX; round += 1) {
    await drain();
    if (settled) return work;
    if (round % 4 === 3) rig.time.stepTo(rig.time.nextWake() ?? 0); // Z3
  }
  throw new Error("a request was never answered");
}

async function ask<K extends OperationName>(rig: Rig, name: K, input: OperationInput<K>) {
  return waitFor(rig, rig.broker.submit(name, input));
}

function dump(draft: Draft, seed: number, index: number): string {
  const { method, path, query, headers } = draft;
  const body = draft.body.toString("latin1").slice(0, DUMP_CHARS);
  return JSON.stringify({ seed, index, method, path, query, headers, body }, null, 1);
}

async function judge(rig: Rig, draft: Draft, seed: number, index: number): Promise<number> {
  const requestId = createSeededRandom(index).uuid();
  const { method, path, query, headers, body } = draft;
  const signal = new AbortController().signal;
  const request = { method, path, query, headers, body, signal, requestId, bodyTooLarge: false };
  let fault: string | null;
  let status = 0;
  try {
    const reply = readReply(await rig.http(request));
    status = reply.status;
    fault = replyFault(reply, method);
    if (fault !== null) fault += `\n${reply.status} ${reply.body.slice(0, DUMP_CHARS)}`;
  } catch (error) {
    fault = `thrown: ${(error as Error).stack}`;
  }
  if (fault !== null) throw new Error(`${fault}\n${dump(draft, seed, index)}`);
  return status;
}

/** The first query request loads the query protocol; its loading time does not count. */
async function loadProtocols({ http }: Rig): Promise<void> {
  const { signal } = new AbortController();
  const ask = { method: "GET", path: "/", query: "", headers: {}, body: new Uint8Array() };
  await http({ ...ask, signal, requestId: createSeededRandom(0).uuid(), bodyTooLarge: false });
}

/** Creates the target queues and receives a message to have receipt handles. */
async function prepareTargets(rig: Rig): Promise<string[]> {
  for (const name of TARGETS) {
    const attributes: Record<string, string> = name.endsWith(".fifo") ? { FifoQueue: "true" } : {};
    const made = await ask(rig, "createQueue", { name, attributes, tags: {} });
    if (made.ok || made.fault.name !== "QueueDeletedRecently") continue;
    rig.time.stepTo(rig.time.now() + 60_000);
    await ask(rig, "createQueue", { name, attributes, tags: {} });
  }
  const entry = { attributes: null, traceHeader: null, groupId: null, dedupId: null };
  await ask(rig, "send", {
    queue: "target",
    batch: false,
    entries: [{ ...entry, body: "held", sizeBytes: 4, delayMs: null }],
  });
  const received = await ask(rig, "receive", {
    queue: "target",
    max: 10,
    waitMs: durationMs(0),
    visibilityMs: durationMs(30_000),
    attemptId: null,
  });
  return received.ok ? received.value.deliveries.map((each) => each.receiptHandle) : [];
}

async function placeCanary(rig: Rig): Promise<string[]> {
  const attributes = { VisibilityTimeout: "43200" };
  await ask(rig, "createQueue", { name: CANARY, attributes, tags: { song: "yes" } });
  const entry = { attributes: null, traceHeader: null, groupId: null, dedupId: null };
  const entries = ["one", "two", "three"].map((body) => ({
    ...entry,
    body,
    sizeBytes: body.length,
    delayMs: durationMs(0),
  }));
  await ask(rig, "send", { queue: CANARY, batch: true, entries });
  const received = await ask(rig, "receive", {
    queue: CANARY,
    max: 2,
    waitMs: durationMs(0),
    visibilityMs: null,
    attemptId: null,
  });
  return received.ok ? received.value.deliveries.map((each) => each.receiptHandle) : [];
}

/** The observable state of the canary, and the list of queues. */
async function readCanary(rig: Rig): Promise<unknown[]> {
  return [
    await ask(rig, "listQueues", { prefix: "", page: null }),
    await ask(rig, "countQueues", { prefix: CANARY }),
    await ask(rig, "peek", { queue: CANARY, afterSeq: 0, limit: 100 }),
    await ask(rig, "getQueueAttributes", { queue: CANARY, names: ["All"] }),
    await ask(rig, "listQueueTags", { queue: CANARY }),
  ];
}

/** Sends one request to the canary; a refused one must change nothing (Z2). */
async function tryCanary(rig: Rig, handles: string[], seed: number, index: number) {
  const random = createSeededRandom(seed ^ Math.imul(index + 1, 0x9e3779b1)); // Z1
  const action = pick(random, Object.keys(ACTIONS));
  const draft = createMutant(random, action, { queues: [CANARY], handles });
  const before = await readCanary(rig);
  const startedAt = rig.time.now();
  const status = await waitFor(rig, judge(rig, draft, seed, index));
  const after = await readCanary(rig);
  if (status >= 400 && rig.time.now() === startedAt && !isDeepStrictEqual(after, before)) {
    throw new Error(`a refused request changed something\n${dump(draft, seed, index)}`);
  }
  return status;
}

/** Throws at the first response that is not well-formed. */
export async function fuzzWire(rig: Rig, seed: number, count: number): Promise<Tally> {
  const tally: Tally = new Map();
  const note = (status: number) => tally.set(status, (tally.get(status) ?? 0) + 1);
  await loadProtocols(rig);
  let canaryHandles = await placeCanary(rig);
  for (let index = 0; index < count; ) {
    const handles = await prepareTargets(rig);
    const batch: Promise<number>[] = [];
    const canaryTurns: number[] = [];
    for (; batch.length < BATCH && index < count; index += 1) {
      if (index % CANARY_EVERY === CANARY_EVERY - 1) {
        canaryTurns.push(index);
        continue;
      }
      const random = createSeededRandom(seed ^ Math.imul(index + 1, 0x9e3779b1)); // Z1
      const action = pick(random, Object.keys(ACTIONS));
      batch.push(
        judge(rig, createMutant(random, action, { queues: TARGETS, handles }), seed, index),
      );
    }
    for (const status of await waitFor(rig, Promise.all(batch))) note(status);
    for (const turn of canaryTurns) note(await tryCanary(rig, canaryHandles, seed, turn));
    const canary = await ask(rig, "findQueue", { queue: CANARY });
    if (!canary.ok) {
      rig.time.stepTo(rig.time.now() + 60_000);
      canaryHandles = await placeCanary(rig);
    }
    if (index % 1_000 < BATCH) await purgeTargets(rig);
  }
  return tally;
}

/** Purges the targets from time to time, to keep a long campaign small. */
async function purgeTargets(rig: Rig): Promise<void> {
  rig.time.stepTo(rig.time.now() + 60_000);
  for (const queue of TARGETS) await ask(rig, "purgeQueue", { queue });
}
