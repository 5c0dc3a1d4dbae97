// A world for consumers: the embedded cloud with virtual time, a ledger, and a consumer in process.

import { createBrokerQueue } from "../../src/cloud/broker-queue.ts";
import { startCloud, type VirtualCloud } from "../../src/cloud/start-cloud.ts";
import { buildEnvelope } from "../../src/core/envelope.ts";
import { durationMs } from "../../src/core/units.ts";
import { type Consumer, createConsumer } from "../../src/ingest/consumer.ts";
import { type Pipeline, pipeline } from "../../src/ingest/define-pipeline.ts";
import { createLeaseKeeper } from "../../src/ingest/lease-keeper.ts";
import type { HandlerContext, MessageArrival } from "../../src/ingest/pipeline-spec.ts";
import { SILENT } from "../../src/ingest/silent-telemetry.ts";
import { systemRandom } from "../../src/platform/system-random.ts";
import { systemTurn } from "../../src/platform/system-turn.ts";
import type { Ledger } from "../../src/ports/ledger.ts";
import type { Queue } from "../../src/ports/queue-receiver.ts";
import type { Sink } from "../../src/ports/sink.ts";
import type { Telemetry } from "../../src/ports/telemetry.ts";
import { createMemoryLedger } from "../../src/stores/memory/ledger.ts";

export type Handler = (
  event: MessageArrival<Record<string, unknown>>,
  context: HandlerContext,
) => Promise<void> | void;

export interface ConsumerWorldOptions {
  readonly queue?: string;
  readonly handler?: Handler;
  readonly pipeline?: Partial<Parameters<typeof pipeline>[0]>;
  readonly ledger?: (cloud: VirtualCloud) => Ledger;
  readonly sink?: Sink | null;
  readonly maxReceiveCount?: number;
  readonly drainMs?: number;
  /** Instead of one that merely counts; `logs` and `counts` then stay empty. */
  readonly telemetry?: (cloud: VirtualCloud) => Telemetry;
  /** Stands between the consumer and its queue. */
  readonly wrapQueue?: (queue: Queue) => Queue;
}

export interface OwnPorts {
  readonly queue?: Queue;
  readonly deadLetters?: Queue;
  readonly ledger?: Ledger;
}

export interface ConsumerWorld extends AsyncDisposable {
  readonly cloud: VirtualCloud;
  readonly ledger: Ledger;
  readonly queue: Queue;
  readonly deadLetters: Queue;
  readonly pipeline: Pipeline;
  readonly logs: { readonly level: string; readonly message: string; readonly fields: object }[];
  readonly counts: Map<string, number>;
  /** A consumer, which may have ports of its own, to die with. */
  consumer(owner?: string, own?: OwnPorts): Consumer;
  send(key: string, payload?: Record<string, unknown>, group?: string): Promise<void>;
  sendBody(body: string, group?: string): Promise<void>;
  depth(queue?: Queue): Promise<number>;
  /** Lets everything that is due now come to rest. */
  settle(): Promise<void>;
  /** Moves time on in steps, letting things come to rest in between. */
  pass(ms: number): Promise<void>;
}

const TURNS = 50;

export async function createConsumerWorld(
  options: ConsumerWorldOptions = {},
): Promise<ConsumerWorld> {
  const { queue: name = "work", handler = () => undefined, maxReceiveCount = 100 } = options;
  const cloud = await startCloud({ memory: true, clock: "virtual" });
  const { queue, deadLetters } = await makeQueues(cloud, name, maxReceiveCount);
  const ledger = options.ledger?.(cloud) ?? createMemoryLedger({ clock: cloud.clock });
  const spec = pipeline({
    name: "test",
    source: { queue: name },
    handler: handler as never,
    ...(options.pipeline as object),
  });
  const logs: ConsumerWorld["logs"] = [];
  const counts = new Map<string, number>();
  const telemetry: Telemetry = options.telemetry?.(cloud) ?? {
    ...SILENT,
    count: (metric, by = 1) => void counts.set(metric, (counts.get(metric) ?? 0) + by),
    log: (level, message, fields = {}) => void logs.push({ level, message, fields }),
  };
  const seen = options.wrapQueue?.(queue) ?? queue;
  const consumers: Consumer[] = [];
  const settle = async () => {
    for (let at = 0; at < TURNS; at += 1) {
      await new Promise<void>((resolve) => systemTurn.afterTurn(resolve));
    }
    await cloud.broker.idle();
  };
  return {
    ...{ cloud, ledger, queue, deadLetters, pipeline: spec, logs, counts, settle },
    consumer(owner = `worker-${consumers.length + 1}`, own = {}) {
      const mine = { queue: seen, deadLetters, ledger, ...own };
      const scope = { pipeline: spec.name, generation: spec.generation };
      const { clock } = cloud;
      const { visibilityMs } = spec;
      const keeper = createLeaseKeeper(
        { queue: mine.queue, ledger: mine.ledger, scope, clock, telemetry },
        { visibilityMs, leaseMs: visibilityMs },
      );
      const made = createConsumer(
        {
          ...{ clock, random: systemRandom, turn: systemTurn, ...mine },
          ...{ objects: null, rows: null, sink: options.sink ?? null, keeper, telemetry },
        },
        {
          ...{ pipeline: spec, owner, runId: "run-1" },
          ...(options.drainMs !== undefined && { drainMs: durationMs(options.drainMs) }),
        },
      );
      consumers.push(made);
      return made;
    },
    async send(key, payload = {}, group) {
      const input = { source: "test.unit.world", dedupeKey: key, eventTime: cloud.clock.now() };
      const built = buildEnvelope({ ...input, payload: payload as never });
      if (built.kind === "invalid") throw new Error(JSON.stringify(built.problems));
      await sendOne(queue, built.value.body, group, built.value.dedupId);
    },
    sendBody: (body, group) => sendOne(queue, body, group, String(body.length)),
    async depth(of = queue) {
      const { visible, hidden, delayed } = await of.facts();
      return visible + hidden + delayed;
    },
    async pass(ms) {
      const step = 1_000;
      for (let left = ms; left > 0; left -= step) {
        await cloud.clock.advance(Math.min(step, left));
        await settle();
      }
    },
    async [Symbol.asyncDispose]() {
      for (const each of consumers) void each.stop();
      await cloud.clock.advance(10_000);
      await cloud.close();
    },
  };
}

async function makeQueues(cloud: VirtualCloud, name: string, maxReceiveCount: number) {
  const fifo = name.endsWith(".fifo");
  const base: Record<string, string> = fifo ? { FifoQueue: "true" } : {};
  const dead = fifo ? name.replace(".fifo", "-dead.fifo") : `${name}-dead`;
  const { account, region } = cloud.broker;
  const arn = `arn:aws:sqs:${region}:${account}:${dead}`;
  await cloud.broker.submit("createQueue", { name: dead, attributes: base, tags: {} });
  const RedrivePolicy = JSON.stringify({ deadLetterTargetArn: arn, maxReceiveCount });
  const attributes = { ...base, RedrivePolicy };
  await cloud.broker.submit("createQueue", { name, attributes, tags: {} });
  const queue = createBrokerQueue(cloud.broker, { queue: name });
  return { queue, deadLetters: createBrokerQueue(cloud.broker, { queue: dead }) };
}

async function sendOne(queue: Queue, body: string, group: string | undefined, dedup: string) {
  const groupId = queue.fifo ? (group ?? "g") : null;
  const dedupId = queue.fifo ? dedup : null;
  const [outcome] = await queue.sendBatch([{ body, attributes: {}, groupId, dedupId }]);
  if (outcome?.kind !== "sent") throw new Error(JSON.stringify(outcome));
}
