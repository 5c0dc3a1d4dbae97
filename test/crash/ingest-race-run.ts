// Ingest race: consumer processes on one queue, while the broker delivers twice, out of order and
// loses its answers, consumers are killed and started again, and so is the broker itself.
//   R1. What is killed, and after how many handlers have begun, is chosen by the seed. Where in its
//       work a kill lands is up to the machine.
//   R2. Faults live in the broker's memory: they are set again after each of its crashes.
//   R3. The race is over when the queue holds nothing, hidden or not.

import { SendMessageBatchCommand } from "@aws-sdk/client-sqs";
import type { SeededRandom } from "../../src/core/seeded-random.ts";
import {
  type IngestWorld,
  readingMessage,
  type Stream,
  type WorkerProcess,
} from "./ingest-site.ts";

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
  readonly begun: number;
  readonly consumersKilled: number;
  readonly brokerKilled: number;
  /** How often each kind of fault has struck, as far as the broker lived to tell. */
  readonly faults: Readonly<Record<string, number>>;
}

export function temperOf(n: number): "good" | "poison" | "flaky" {
  if (n % POISON_EVERY === 0) return "poison";
  return n % FLAKY_EVERY === 1 ? "flaky" : "good";
}

export async function sendAll(site: IngestWorld, stream: Stream, messages: number): Promise<void> {
  const client = site.sqs();
  for (let from = 1; from <= messages; from += BATCH) {
    const size = Math.min(BATCH, messages - from + 1);
    const Entries = Array.from({ length: size }, (_, at) => {
      const n = from + at;
      const { MessageBody } = readingMessage(stream, n, temperOf(n), "g");
      return { Id: String(n), MessageBody };
    });
    await client.send(new SendMessageBatchCommand({ QueueUrl: stream.queueUrl, Entries }));
  }
  client.destroy();
}

/** R2 */
async function setFaults(site: IngestWorld, { name, deadLetterName }: Stream, seed: number) {
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
  const reply = await fetch(`${site.endpoint}/_tidegate/faults`, { method: "POST", headers, body });
  if (!reply.ok) throw new Error(await reply.text());
}

async function struck(site: IngestWorld, faults: Record<string, number>): Promise<void> {
  const reply = await fetch(`${site.endpoint}/_tidegate/faults`);
  const told = (await reply.json()) as { faults: { kind: string; fired: number }[] };
  for (const { kind, fired } of told.faults) faults[kind] = (faults[kind] ?? 0) + fired;
}

class Race {
  begun = 0;
  readonly #site: IngestWorld;
  readonly #stream: Stream;
  #named = 0;
  #waiting: { readonly count: number; readonly resolve: () => void } | null = null;

  constructor(site: IngestWorld, stream: Stream) {
    this.#site = site;
    this.#stream = stream;
  }

  start(): WorkerProcess {
    this.#named += 1;
    const owner = `consumer-${this.#named}`;
    const worker = this.#site.worker(this.#stream, { owner, concurrency: CONCURRENCY });
    worker.onLines((line) => {
      if (!line.startsWith("begun ")) return;
      this.begun += 1;
      if (this.#waiting !== null && this.begun >= this.#waiting.count) this.#waiting.resolve();
    });
    return worker;
  }

  /** Resolves when so many handlers have begun, all consumers together. */
  reached(count: number): Promise<void> {
    if (this.begun >= count) return Promise.resolve();
    return new Promise((resolve) => {
      this.#waiting = { count, resolve };
    });
  }
}

/** Runs the race to its end; every consumer that is left has been drained by then. */
export async function runRace(
  site: IngestWorld,
  stream: Stream,
  plan: RacePlan,
  random: SeededRandom,
): Promise<RaceCounts> {
  const race = new Race(site, stream);
  const faults: Record<string, number> = {};
  let brokerKilled = 0;
  await setFaults(site, stream, plan.seed);
  const consumers = Array.from({ length: CONSUMERS }, () => race.start());
  // All kills fall into the time in which most messages are still to be handled.
  const share = Math.floor((plan.messages * 0.8) / plan.kills);
  for (let kill = 1; kill <= plan.kills; kill += 1) {
    await race.reached(share * (kill - 1) + random.between(1, share)); // R1
    if (kill === 1 || random.fraction() < BROKER_SHARE) {
      await struck(site, faults);
      await site.crash();
      await site.up();
      await setFaults(site, stream, plan.seed + kill);
      brokerKilled += 1;
    } else {
      const at = random.between(0, CONSUMERS - 1);
      await consumers[at]?.end("SIGKILL");
      consumers[at] = race.start();
    }
  }
  await site.empty(stream.name); // R3
  await struck(site, faults);
  for (const consumer of consumers) {
    await consumer.told(/^ready$/);
    const how = await consumer.end("SIGTERM");
    if (how !== 0) throw new Error(`${consumer.owner} ended with ${how}: ${consumer.log}`);
  }
  const consumersKilled = plan.kills - brokerKilled;
  return { begun: race.begun, consumersKilled, brokerKilled, faults };
}
