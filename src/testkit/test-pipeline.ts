// Test pipeline: one pipeline on an embedded cloud in memory, in virtual time.
//   T1. It is the production consumer, on the queues, topic and bucket that `tidegate dev` makes.
//       Ledger and tables are in memory; nothing is written to disk.
//   T2. Time moves only in `advance`, `idle` and `redrive`. It stands still while a handler runs,
//       for HANDLER_REAL_MS of real time at most: a handler that waits for its deadline would
//       otherwise wait forever.
//   T3. A sink function is not called: `effects` returns what it would get. As in production, a
//       record that is applied again replaces its former effects.

import { createBrokerQueue } from "../cloud/broker-queue.ts";
import { type PublicVirtualCloud, withoutBroker } from "../cloud/public-cloud.ts";
import { startCloud, type VirtualCloud } from "../cloud/start-cloud.ts";
import { refuseValue } from "../core/errors.ts";
import { createSeededRandom } from "../core/seeded-random.ts";
import { hours, minutes, seconds } from "../core/units.ts";
import {
  createDeadLetterAccess,
  type DeadLetterAccess,
  type DeadLetterEntry,
  type DeadLetterSelection,
  type RedriveRequest,
} from "../ingest/dead-letters/dead-letter-access.ts";
import type { RedriveSummary } from "../ingest/dead-letters/redrive-events.ts";
import {
  type Consumer,
  type ConsumerSnapshot,
  createConsumer,
} from "../ingest/running/consumer.ts";
import { createLeaseRenewer } from "../ingest/running/lease-renewer.ts";
import type { Pipeline } from "../ingest/spec/define-pipeline.ts";
import { SILENT } from "../ingest/telemetry/silent-telemetry.ts";
import { afterRealTurns } from "../platform/real-turns.ts";
import { systemClock } from "../platform/system-clock.ts";
import { systemTurn } from "../platform/system-turn.ts";
import type { Queue } from "../ports/queue-receiver.ts";
import type { TableRow } from "../ports/sink.ts";
import { createRowReader } from "../readers/row-reader.ts";
import { type DevNames, devNames, devSetup } from "../run/dev/dev-setup.ts";
import { deleteLocalObject, putLocalObject } from "../run/dev/put-object.ts";
import { createMemoryLedger } from "../stores/memory/ledger.ts";
import { sendTestMessage, type TestMessage } from "./test-message.ts";
import {
  createTestQuarantine,
  type QuarantinedRow,
  type TestQuarantine,
} from "./test-quarantine.ts";
import { openTestSink, type TestSink } from "./test-sink.ts";

/** Options of `startTestPipeline`. */
export interface TestPipelineOptions {
  /** Seed of backoff and ids. Default: 1. */
  readonly seed?: number;
}

/** A running pipeline with its own cloud in memory. Disposing it stops both. */
export interface TestPipeline extends AsyncDisposable {
  /** The embedded cloud: `cloud.endpoint` is for AWS clients, `cloud.clock` is its time. */
  readonly cloud: PublicVirtualCloud;
  /** Names of its bucket, topic, queue and dead-letter queue. */
  readonly names: DevNames;
  /** Puts an object into the pipeline's bucket. */
  put(key: string, body: string | Uint8Array): Promise<void>;
  /** Deletes an object from the pipeline's bucket. */
  remove(key: string): Promise<void>;
  /** Sends a message to the pipeline's queue. */
  send(message: TestMessage): Promise<void>;
  /**
   * Resolves when every message is processed or dead-lettered. Moves time on as far as retries
   * need, for up to 24 hours; then it throws.
   */
  idle(): Promise<void>;
  /** Moves time on; resolves once everything that became due is done. */
  advance(ms: number): Promise<void>;
  /** The rows of a table of `tables()`, in the order of its key. */
  rows(table: string): TableRow[];
  /** What the pipeline's sink function would have got, in the order of records (T3). */
  effects(): unknown[];
  /** The dead letters, the newest failure first. */
  deadLetters(filter?: DeadLetterSelection): Promise<DeadLetterEntry[]>;
  /** Sends dead letters back to the queue and follows them to their end, moving time on. */
  redrive(filter?: DeadLetterSelection, request?: RedriveRequest): Promise<RedriveSummary>;
  /** The rows that the schema rejected, with `onBadRow: "quarantine"`. */
  quarantined(): Promise<QuarantinedRow[]>;
  /** Runs quarantined rows again, on their own; resolves when they are processed. */
  redriveQuarantined(): Promise<void>;
  /** Counts of what the consumer did, and what it is doing. */
  snapshot(): ConsumerSnapshot;
  close(): Promise<void>;
}

const STEP_MS = seconds(1);
/** Steps double up to this length while nothing happens. */
const STEP_MS_MAX = minutes(1);
const IDLE_MS_MAX = hours(24);
/** A FIFO group that halts behind a dead letter never gets further by itself. */
const HALTED_MS = hours(1);
const HANDLER_REAL_MS = seconds(1);
/** Turns of the event loop in which everything that does not wait for time comes to rest. */
const TURNS = 50;
const STOP_MS = 10_000;

/** Starts a pipeline for a test; `await using` stops it at the end of the block. */
export async function startTestPipeline(
  pipeline: Pipeline,
  options: TestPipelineOptions = {},
): Promise<TestPipeline> {
  const names = devNames(pipeline);
  const cloud = await startCloud({ memory: true, clock: "virtual", setup: devSetup(pipeline) });
  try {
    const parts = await openParts(pipeline, cloud, names, options);
    await parts.consumer.start();
    return testPipelineOf(pipeline, parts);
  } catch (error) {
    await cloud.close();
    throw error;
  }
}

interface Parts {
  readonly cloud: VirtualCloud;
  readonly names: DevNames;
  readonly queue: Queue;
  readonly sink: TestSink;
  readonly consumer: Consumer;
  readonly access: DeadLetterAccess;
  readonly quarantine: TestQuarantine;
}

async function openParts(
  pipeline: Pipeline,
  cloud: VirtualCloud,
  names: DevNames,
  { seed = 1 }: TestPipelineOptions,
): Promise<Parts> {
  const { broker, clock, objects } = cloud;
  const attributes = { VisibilityTimeout: String(Math.ceil(pipeline.visibilityMs / 1_000)) };
  await broker.submit("setQueueAttributes", { queue: names.queue, attributes });
  const queue = createBrokerQueue(broker, { queue: names.queue });
  const deadLetters = createBrokerQueue(broker, { queue: names.deadLetterQueue });
  const sink = openTestSink(pipeline.sink);
  const ledger = createMemoryLedger({ clock }, sink.ledgerOptions);
  const random = createSeededRandom(seed);
  const scope = { pipeline: pipeline.name, generation: pipeline.generation };
  const { visibilityMs } = pipeline;
  const renewer = createLeaseRenewer(
    { queue, ledger, scope, clock, telemetry: SILENT },
    { visibilityMs, leaseMs: visibilityMs },
  );
  await sink.port?.prepare();
  const consumer = createConsumer(
    {
      clock,
      random,
      turn: systemTurn,
      queue,
      deadLetters,
      ledger,
      renewer,
      objects,
      rows: createRowReader({ clock: systemClock, turn: systemTurn }),
      sink: sink.port,
      telemetry: SILENT,
    },
    { pipeline: timed(pipeline, cloud), owner: "test", runId: "test" },
  );
  const access = createDeadLetterAccess({
    clock,
    random,
    reader: async () => ledger,
    writer: async () => ledger,
    scopes: async () => [scope],
    scope: async () => scope,
    own: async () => pipeline.source.own,
    queues: async () => ({ queue, deadLetters }),
  });
  const quarantine = createTestQuarantine({ clock, random, ledger, queue }, scope);
  return { cloud, names, queue, sink, consumer, access, quarantine };
}

/** The pipeline, whose handler keeps time from moving (T2). */
function timed(pipeline: Pipeline, { clock }: VirtualCloud): Pipeline {
  return {
    ...pipeline,
    async handler(event, context) {
      const limit = new AbortController();
      const handled = (async () => pipeline.handler(event, context))();
      const waited = systemClock.sleep(HANDLER_REAL_MS, limit.signal);
      clock.waitFor(Promise.race([handled, waited]));
      await handled.finally(() => limit.abort());
    },
  };
}

function testPipelineOf(pipeline: Pipeline, parts: Parts): TestPipeline {
  const { cloud, names, queue, sink, consumer, access, quarantine } = parts;
  const target = () => {
    if (names.bucket !== null) return { endpoint: cloud.endpoint, bucket: names.bucket };
    return refuseValue(`pipeline "${pipeline.name}" has no bucket; feed it with send()`);
  };
  const step = async (ms: number) => {
    await cloud.clock.advance(ms);
    await rest(cloud);
  };
  let closing: Promise<void> | null = null;
  const close = () => {
    closing ??= closeAll(parts);
    return closing;
  };
  return {
    cloud: withoutBroker(cloud),
    names,
    close,
    put: async (key, body) => putLocalObject(target(), key, body),
    remove: async (key) => deleteLocalObject(target(), key),
    send: (message) => sendTestMessage(queue, message, cloud.clock.now()),
    idle: () => untilIdle(pipeline, parts, step),
    async advance(ms) {
      await rest(cloud);
      await step(ms);
    },
    rows: sink.rows,
    effects: sink.effects,
    async deadLetters(filter) {
      const entries: DeadLetterEntry[] = [];
      for await (const entry of access.list(filter)) entries.push(entry);
      return entries;
    },
    async redrive(filter, request) {
      let running = true;
      const ended = access
        .redrive(filter, request)
        .result()
        .finally(() => {
          running = false;
        });
      ended.catch(() => undefined);
      while (running) await step(STEP_MS);
      return await ended;
    },
    quarantined: () => quarantine.rows(),
    async redriveQuarantined() {
      await quarantine.redrive();
      await untilIdle(pipeline, parts, step);
    },
    snapshot: () => consumer.snapshot(),
    [Symbol.asyncDispose]: close,
  };
}

async function closeAll({ cloud, consumer, sink }: Parts): Promise<void> {
  const stopped = consumer.stop();
  await cloud.clock.advance(STOP_MS);
  await stopped;
  await sink.port?.close();
  await cloud.close();
}

/** Lets everything that does not wait for time come to rest. */
async function rest({ broker }: VirtualCloud): Promise<void> {
  for (let at = 0; at < TURNS; at += 1) await afterRealTurns(() => false);
  await broker.idle();
}

async function untilIdle(
  { name }: Pipeline,
  { cloud, queue, consumer, access }: Parts,
  step: (ms: number) => Promise<void>,
): Promise<void> {
  const { clock } = cloud;
  const startedAt = clock.now();
  let progressAt = startedAt;
  let before = "";
  let stepMs: number = STEP_MS;
  await cloud.clock.advance(0); // Handlers that run now are waited for (T2).
  await rest(cloud);
  for (;;) {
    const { visible, hidden, delayed } = await queue.facts();
    const { inFlight, waiting, committed, retried, deadLettered } = consumer.snapshot();
    const open = visible + hidden + delayed;
    if (open + inFlight + waiting === 0) return;
    const now = JSON.stringify([open, committed, retried, deadLettered]);
    stepMs = now === before ? Math.min(stepMs * 2, STEP_MS_MAX) : STEP_MS;
    if (now !== before) progressAt = clock.now();
    before = now;
    const stalled = queue.fifo && clock.now() - progressAt > HALTED_MS;
    if (stalled && (await hasEntries(access))) return;
    if (clock.now() - startedAt > IDLE_MS_MAX) {
      refuseValue(
        `pipeline "${name}" is not idle after 24 hours: ${open} messages remain in its queue`,
      );
    }
    await step(stepMs);
  }
}

async function hasEntries(access: DeadLetterAccess): Promise<boolean> {
  for await (const _ of access.list()) return true;
  return false;
}
