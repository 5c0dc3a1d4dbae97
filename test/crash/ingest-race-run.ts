// Ingest race: consumer processes on one queue. Meanwhile the broker delivers twice, out of order
// and loses responses, and consumers and the broker itself are killed and restarted.
//   R1. The seed chooses what is killed, and after how many started handlers. Where in its work a
//       kill lands depends on the operating system.
//   R2. Faults are in the broker's memory: they are set again after each of its crashes.
//   R3. The race is over when the queue is empty, in-flight messages included.

import { SendMessageBatchCommand } from "@aws-sdk/client-sqs";
import type { SeededRandom } from "../../src/core/seeded-random.ts";
import {
  type IngestWorld,
  readingMessage,
  type Stream,
  type WorkerProcess,
} from "../support/crash/ingest-world.ts";

const CONSUMERS = 4;
const CONCURRENCY = 8;
const BATCH = 10;
const POISON_EVERY = 25;
const FLAKY_EVERY = 10;
const BROKER_SHARE = 0.25;

export interface RacePlan {
  readonly messages: number;
  readonly kills: number;
  readonly seed: number;
}

export interface RaceCounts {
  readonly started: number;
  readonly consumersKilled: number;
  readonly brokerKilled: number;
  /** How often each kind of fault fired, as reported by the broker before it was killed. */
  readonly faults: Readonly<Record<string, number>>;
}

export function behaviorOf(n: number): "good" | "poison" | "flaky" {
  if (n % POISON_EVERY === 0) return "poison";
  return n % FLAKY_EVERY === 1 ? "flaky" : "good";
}

export async function sendAll(world: IngestWorld, stream: Stream, messages: number): Promise<void> {
  const client = world.sqs();
  for (let from = 1; from <= messages; from += BATCH) {
    const size = Math.min(BATCH, messages - from + 1);
    const Entries = Array.from({ length: size }, (_, at) => {
      const n = from + at;
      const { MessageBody } = readingMessage(stream, n, behaviorOf(n), "g");
      return { Id: String(n), MessageBody };
    });
    await client.send(new SendMessageBatchCommand({ QueueUrl: stream.queueUrl, Entries }));
  }
  client.destroy();
}

/** R2 */
async function setFaults(world: IngestWorld, { name, deadLetterName }: Stream, seed: number) {
  const target = { queue: name };
  const lost = { kind: "drop-acknowledgement", probability: 0.1, seed };
  const faults = [
    { kind: "duplicate", target, probability: 0.1, seed },
    { kind: "reorder", target, probability: 0.2, seed },
    { ...lost, target, actions: ["ReceiveMessage"], probability: 0.05 },
    { ...lost, target, actions: ["DeleteMessageBatch"] },
    { ...lost, target, actions: ["ChangeMessageVisibilityBatch"] },
    { ...lost, target: { queue: deadLetterName }, actions: ["SendMessageBatch"] },
  ];
  const headers = { "content-type": "application/json" };
  const body = JSON.stringify(faults);
  const reply = await fetch(`${world.endpoint}/_tidegate/faults`, {
    method: "POST",
    headers,
    body,
  });
  if (!reply.ok) throw new Error(await reply.text());
}

async function addFired(world: IngestWorld, faults: Record<string, number>): Promise<void> {
  const reply = await fetch(`${world.endpoint}/_tidegate/faults`);
  const report = (await reply.json()) as { faults: { kind: string; fired: number }[] };
  for (const { kind, fired } of report.faults) faults[kind] = (faults[kind] ?? 0) + fired;
}

class Race {
  started = 0;
  readonly #world: IngestWorld;
  readonly #stream: Stream;
  #starts = 0;
  #waiting: { readonly count: number; readonly resolve: () => void } | null = null;

  constructor(world: IngestWorld, stream: Stream) {
    this.#world = world;
    this.#stream = stream;
  }

  start(): WorkerProcess {
    this.#starts += 1;
    const owner = `consumer-${this.#starts}`;
    const worker = this.#world.worker(this.#stream, { owner, concurrency: CONCURRENCY });
    worker.onLines((line) => {
      if (!line.startsWith("started ")) return;
      this.started += 1;
      if (this.#waiting !== null && this.started >= this.#waiting.count) this.#waiting.resolve();
    });
    return worker;
  }

  /** Resolves when `count` handlers have started, over all consumers. */
  reached(count: number): Promise<void> {
    if (this.started >= count) return Promise.resolve();
    return new Promise((resolve) => {
      this.#waiting = { count, resolve };
    });
  }
}

/** Runs the race to its end; the remaining consumers are drained by then. */
export async function runRace(
  world: IngestWorld,
  stream: Stream,
  plan: RacePlan,
  random: SeededRandom,
): Promise<RaceCounts> {
  const race = new Race(world, stream);
  const faults: Record<string, number> = {};
  let brokerKilled = 0;
  await setFaults(world, stream, plan.seed);
  const consumers = Array.from({ length: CONSUMERS }, () => race.start());
  // All kills happen while most messages are still to be handled.
  const share = Math.floor((plan.messages * 0.8) / plan.kills);
  for (let kill = 1; kill <= plan.kills; kill += 1) {
    await race.reached(share * (kill - 1) + random.between(1, share)); // R1
    if (kill === 1 || random.fraction() < BROKER_SHARE) {
      await addFired(world, faults);
      await world.crash();
      await world.up();
      await setFaults(world, stream, plan.seed + kill);
      brokerKilled += 1;
    } else {
      const at = random.between(0, CONSUMERS - 1);
      await consumers[at]?.end("SIGKILL");
      consumers[at] = race.start();
    }
  }
  await world.empty(stream.name); // R3
  await addFired(world, faults);
  for (const consumer of consumers) {
    await consumer.waitForLine(/^ready$/);
    const exit = await consumer.end("SIGTERM");
    if (exit !== 0) throw new Error(`${consumer.owner} ended with ${exit}: ${consumer.log}`);
  }
  const consumersKilled = plan.kills - brokerKilled;
  return { started: race.started, consumersKilled, brokerKilled, faults };
}
