// Embedded cloud: the embedded cloud with one queue, as in `tidegate dev`, plus the gate.

import { join } from "node:path";
import { createBrokerQueue } from "../../src/cloud/broker-queue.ts";
import { startCloud } from "../../src/cloud/start-cloud.ts";
import type { Queue } from "../../src/ports/queue-receiver.ts";
import { openRenewer } from "../../src/run/leases/open-renewer.ts";
import type { Environment } from "../../src/run/open/environment.ts";
import { prepareRun } from "../../src/run/prepare-run.ts";
import { runPipeline } from "../../src/run/run-pipeline.ts";
import { GatedQueue } from "./gated-queue.ts";
import { bodyOf, pipelineOf, type Workload } from "./workload.ts";

export interface EmbeddedConfig {
  readonly workload: Workload;
  readonly concurrency: number;
  readonly folder: string;
  /** The ledger's URL. Default: a file beside the cloud. */
  readonly ledger?: string;
}

export interface Embedded extends Pick<GatedQueue, "round"> {
  readonly handled: () => number;
  /** Sends the next `count` messages of the workload to the queue. */
  fill(count: number): Promise<void>;
  close(): Promise<void>;
}

const QUEUE = "bench";
const BATCH = 10;
const FILLERS = 16;

export async function openEmbedded(config: EmbeddedConfig): Promise<Embedded> {
  const { workload, concurrency, folder } = config;
  const cloud = await startCloud({ data: join(folder, "cloud"), port: 0 });
  await cloud.broker.submit("createQueue", { name: QUEUE, attributes: {}, tags: {} });
  const queue = createBrokerQueue(cloud.broker, { queue: QUEUE });
  const gated = new GatedQueue(queue);
  let handled = 0;
  let sent = 0;
  const onHandled = () => {
    handled += 1;
  };
  const pipeline = pipelineOf(workload, { queue: QUEUE, concurrency, onHandled });
  const environment: Environment = {
    queue: gated.queue,
    deadLetters: null,
    objects: cloud.objects,
    close: () => cloud.close(),
  };
  const settings = { data: folder, metricsPort: 0, ledger: config.ledger };
  const running = await runPipeline(
    prepareRun("dev", pipeline, settings),
    { environment, openRenewer: openRenewer.bind(null, environment) },
    { onLogLine: () => {} },
  );
  return {
    handled: () => handled,
    round: (count) => gated.round(count),
    async fill(count) {
      const from = sent;
      sent += count;
      await fillQueue(queue, workload, from, count);
    },
    close: async () => void (await running.drain()),
  };
}

async function fillQueue(queue: Queue, workload: Workload, from: number, count: number) {
  let next = from;
  const end = from + count;
  const filler = async () => {
    while (next < end) {
      const first = next;
      next = Math.min(end, next + BATCH);
      const messages = Array.from({ length: next - first }, (_, at) => {
        return { body: bodyOf(workload, first + at), attributes: {}, groupId: null, dedupId: null };
      });
      const outcomes = await queue.sendBatch(messages);
      const refused = outcomes.find(({ kind }) => kind !== "sent");
      if (refused !== undefined) throw new Error(JSON.stringify(refused));
    }
  };
  await Promise.all(Array.from({ length: FILLERS }, filler));
}
