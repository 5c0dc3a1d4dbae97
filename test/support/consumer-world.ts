// A world for consumers: the embedded cloud with virtual time, a ledger, and a consumer in process.
// With `bucket`, a bucket of that name tells the queue of its objects.

import { createBrokerQueue } from "../../src/cloud/broker-queue.ts";
import { openCloud, type VirtualOpenCloud } from "../../src/cloud/open-cloud.ts";
import { buildEnvelope } from "../../src/core/events/envelope.ts";
import { durationMs } from "../../src/core/units.ts";
import { type Consumer, createConsumer } from "../../src/ingest/running/consumer.ts";
import { createLeaseRenewer } from "../../src/ingest/running/lease-renewer.ts";
import { type Pipeline, pipeline } from "../../src/ingest/spec/define-pipeline.ts";
import type { HandlerContext, MessageInput } from "../../src/ingest/spec/pipeline-spec.ts";
import { SILENT } from "../../src/ingest/telemetry/silent-telemetry.ts";
import { systemPorts } from "../../src/platform/index.ts";
import { systemRandom } from "../../src/platform/system-random.ts";
import { systemTurn } from "../../src/platform/system-turn.ts";
import type { CallLimit } from "../../src/ports/call-limit.ts";
import type { Ledger } from "../../src/ports/ledger.ts";
import type { MessageArchive } from "../../src/ports/message-archive.ts";
import type { ObjectSource } from "../../src/ports/objects/object-source.ts";
import type { QueueSender } from "../../src/ports/queue.ts";
import type { Queue } from "../../src/ports/queue-receiver.ts";
import type { Sink } from "../../src/ports/sink.ts";
import type { Telemetry } from "../../src/ports/telemetry.ts";
import { createRowReader } from "../../src/readers/row-reader.ts";
import { createMemoryLedger } from "../../src/stores/memory/ledger.ts";
import { callS3 } from "./s3-call.ts";

export type Handler = (
  event: MessageInput<Record<string, unknown>>,
  context: HandlerContext,
) => Promise<void> | void;

export interface ConsumerWorldOptions {
  readonly queue?: string;
  /** Makes a bucket whose events go to the queue. */
  readonly bucket?: string;
  readonly handler?: Handler;
  readonly pipeline?: Partial<Parameters<typeof pipeline>[0]>;
  readonly ledger?: (cloud: VirtualOpenCloud) => Ledger;
  readonly sink?: Sink | null;
  readonly archive?: MessageArchive;
  readonly maxReceiveCount?: number;
  readonly callLimit?: CallLimit;
  /** Stands for the queue of `eventTime.late`. */
  readonly lateQueue?: (cloud: VirtualOpenCloud) => QueueSender;
  readonly drainMs?: number;
  /** Instead of one that merely counts; `logs` and `counts` then stay empty. */
  readonly telemetry?: (cloud: VirtualOpenCloud) => Telemetry;
  /** Stands between the consumer and its queue. */
  readonly wrapQueue?: (queue: Queue) => Queue;
  readonly wrapDeadLetters?: (queue: Queue) => Queue;
  readonly wrapObjects?: (objects: ObjectSource) => ObjectSource;
}

export interface OwnPorts {
  readonly queue?: Queue;
  readonly deadLetters?: Queue;
  readonly ledger?: Ledger;
  readonly pipeline?: Pipeline;
  readonly messagesMax?: number;
}

export interface ConsumerWorld extends AsyncDisposable {
  readonly cloud: VirtualOpenCloud;
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
  /** Puts an object into the bucket, or deletes it. */
  put(key: string, body: string | Uint8Array): Promise<void>;
  remove(key: string): Promise<void>;
  depth(queue?: Queue): Promise<number>;
  /** Lets everything that is due now come to rest. */
  settle(): Promise<void>;
  /** Moves time on in steps, letting things come to rest in between. */
  pass(ms: number): Promise<void>;
}

const TURNS = 50;
const STEP_MS = 1_000;

export async function createConsumerWorld(
  options: ConsumerWorldOptions = {},
): Promise<ConsumerWorld> {
  const { queue: name = "work", maxReceiveCount = 100, bucket } = options;
  const cloud = await openCloud({ memory: true, clock: "virtual" });
  const { queue, deadLetters } = await makeQueues(cloud, name, maxReceiveCount);
  if (bucket !== undefined) await makeBucket(cloud, bucket, name);
  const ledger = options.ledger?.(cloud) ?? createMemoryLedger({ clock: cloud.clock });
  const logs: ConsumerWorld["logs"] = [];
  const counts = new Map<string, number>();
  const telemetry: Telemetry = options.telemetry?.(cloud) ?? {
    ...SILENT,
    count: (metric, by = 1) => void counts.set(metric, (counts.get(metric) ?? 0) + by),
    log: (level, message, fields = {}) => void logs.push({ level, message, fields }),
  };
  const spec = pipeline({
    name: "test",
    source: bucket === undefined ? { queue: name } : { bucket, queue: name },
    handler: (options.handler ?? (() => undefined)) as never,
    ...(options.pipeline as object),
  });
  const site = { options, cloud, ledger, queue, deadLetters, telemetry, pipeline: spec };
  const consumers: Consumer[] = [];
  return {
    cloud,
    ledger,
    queue,
    deadLetters,
    pipeline: spec,
    logs,
    counts,
    consumer(owner = `worker-${consumers.length + 1}`, own = {}) {
      const made = consumerOf(site, owner, own);
      consumers.push(made);
      return made;
    },
    ...sendersOf(site),
    ...timeOf(cloud),
    async depth(of = queue) {
      const { visible, hidden, delayed } = await of.facts();
      return visible + hidden + delayed;
    },
    async [Symbol.asyncDispose]() {
      for (const each of consumers) void each.stop();
      await cloud.clock.advance(10_000);
      await cloud.close();
    },
  };
}

interface Site {
  readonly options: ConsumerWorldOptions;
  readonly cloud: VirtualOpenCloud;
  readonly ledger: Ledger;
  readonly queue: Queue;
  readonly deadLetters: Queue;
  readonly telemetry: Telemetry;
  readonly pipeline: Pipeline;
}

function consumerOf(site: Site, owner: string, own: OwnPorts): Consumer {
  const { options, cloud, telemetry } = site;
  const { clock } = cloud;
  const spec = own.pipeline ?? site.pipeline;
  const { visibilityMs, name, generation } = spec;
  const ledger = own.ledger ?? site.ledger;
  const queue = own.queue ?? options.wrapQueue?.(site.queue) ?? site.queue;
  const deadLetters = options.wrapDeadLetters?.(site.deadLetters) ?? site.deadLetters;
  const renewer = createLeaseRenewer(
    { queue, ledger, scope: { pipeline: name, generation }, clock, telemetry },
    { visibilityMs, leaseMs: visibilityMs },
  );
  const hasObjects = options.bucket !== undefined;
  return createConsumer(
    {
      clock,
      random: systemRandom,
      turn: systemTurn,
      queue,
      ledger,
      renewer,
      telemetry,
      deadLetters: own.deadLetters ?? deadLetters,
      objects: hasObjects ? (options.wrapObjects?.(cloud.objects) ?? cloud.objects) : null,
      rows: hasObjects ? createRowReader(systemPorts) : null,
      sink: options.sink ?? null,
      archive: options.archive ?? null,
      ...(options.callLimit && { callLimit: options.callLimit }),
      ...(options.lateQueue && { lateQueue: options.lateQueue(cloud) }),
    },
    {
      pipeline: spec,
      owner,
      runId: "run-1",
      messagesMax: own.messagesMax,
      ...(options.drainMs !== undefined && { drainMs: durationMs(options.drainMs) }),
    },
  );
}

function sendersOf({ cloud, queue, options: { bucket } }: Site) {
  const http = (method: string, key: string, body?: string | Uint8Array) =>
    callS3(cloud.http, method, `${bucket}/${key}`, body);
  return {
    async send(key: string, payload: Record<string, unknown> = {}, group?: string) {
      const input = { source: "test.unit.world", dedupeKey: key, eventTime: cloud.clock.now() };
      const built = buildEnvelope({ ...input, payload: payload as never });
      if (built.kind === "invalid") throw new Error(JSON.stringify(built.problems));
      await sendOne(queue, built.value.body, group, built.value.dedupId);
    },
    sendBody: (body: string, group?: string) => sendOne(queue, body, group, String(body.length)),
    put: (key: string, body: string | Uint8Array) => http("PUT", key, body),
    remove: (key: string) => http("DELETE", key),
  };
}

function timeOf(cloud: VirtualOpenCloud) {
  const settle = async () => {
    for (let at = 0; at < TURNS; at += 1) {
      await new Promise<void>((resolve) => systemTurn.afterTurn(resolve));
    }
    await cloud.broker.idle();
  };
  return {
    settle,
    async pass(ms: number) {
      await settle(); // What was begun before takes no time.
      for (let remaining = ms; remaining > 0; remaining -= STEP_MS) {
        await cloud.clock.advance(Math.min(STEP_MS, remaining));
        await settle();
      }
    },
  };
}

async function makeBucket(cloud: VirtualOpenCloud, bucket: string, queue: string): Promise<void> {
  const { account, region } = cloud.broker;
  const arn = `arn:aws:sqs:${region}:${account}:${queue}`;
  const events = "<Event>s3:ObjectCreated:*</Event><Event>s3:ObjectRemoved:*</Event>";
  const target = `<QueueConfiguration><Queue>${arn}</Queue>${events}`;
  const notification = `<NotificationConfiguration>${target}</QueueConfiguration></NotificationConfiguration>`;
  const steps = { [bucket]: "", [`${bucket}?notification`]: notification };
  for (const [path, body] of Object.entries(steps)) {
    await callS3(cloud.http, "PUT", path, body);
  }
}

async function makeQueues(cloud: VirtualOpenCloud, name: string, maxReceiveCount: number) {
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
