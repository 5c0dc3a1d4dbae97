// Run on site: a pipeline, put together around a queue that is there already.
//   G1. When starting fails, everything that had been opened is closed again, last first.
//   G2. What cannot work is refused before the first delivery is taken; what can, but should not be
//       left so, is told as findings.
//   G3. Closing is the reverse of opening, once, whoever asks and however often. The metrics go
//       last, so that a drain can be watched.
//   G4. A pipeline whose leases nobody keeps any more stops by itself and says so: it would
//       receive, lose and receive again until the redrive policy had moved the whole queue away.

import { hostname } from "node:os";
import { TidegateError } from "../core/errors.ts";
import { durationMs } from "../core/units.ts";
import { queueFindings } from "../ingest/policy/queue-check.ts";
import {
  type Consumer,
  type ConsumerSnapshot,
  createConsumer,
} from "../ingest/running/consumer.ts";
import type { Pipeline } from "../ingest/spec/define-pipeline.ts";
import { CONSUMER_METRICS } from "../ingest/telemetry/metrics.ts";
import { systemPorts } from "../platform/index.ts";
import type { LeaseRenewer } from "../ports/lease-renewer.ts";
import type { Ledger } from "../ports/ledger.ts";
import type { ObjectSource } from "../ports/object-source.ts";
import type { Queue, QueueFacts } from "../ports/queue-receiver.ts";
import type { Telemetry } from "../ports/telemetry.ts";
import { createRowReader } from "../readers/row-reader.ts";
import { createTelemetry } from "../telemetry/create-telemetry.ts";
import { METRICS_CONTENT_TYPE } from "../telemetry/prometheus-text.ts";
import { loadTracing } from "../telemetry/tracing.ts";
import type { FilledSettings } from "./config.ts";
import { startMetricsListener } from "./metrics-listener.ts";
import { openLedger, parseLedgerUrl } from "./open/open-ledger.ts";
import { openSink } from "./open/open-sink.ts";

/** Where deliveries come from, and what is needed to work on them. */
export interface Environment {
  readonly queue: Queue;
  readonly deadLetters: Queue | null;
  readonly objects: ObjectSource | null;
  /** Keeps leases alive, the ledger's as well: on a thread of its own wherever that helps. */
  openRenewer(
    ledger: Ledger,
    ledgerUrl: string,
    telemetry: Telemetry,
  ): LeaseRenewer | Promise<LeaseRenewer>;
  close(): Promise<void>;
}

export interface StartOptions {
  /** Takes the lines of the log instead of stderr. */
  readonly onLogLine?: (line: string) => void;
  /** Hears of failures that no caller waits for. */
  readonly onError?: (error: unknown) => void;
}

export interface RunningPipeline extends AsyncDisposable {
  readonly name: string;
  readonly queueName: string;
  /** Null where what was given up on stays in its own queue. */
  readonly deadLetterQueueName: string | null;
  /** Where /metrics and /health are: `http://127.0.0.1:port`. */
  readonly metricsOrigin: string;
  /** What should be mended about the queues, each in a sentence with the fix. */
  readonly findings: readonly string[];
  snapshot(): ConsumerSnapshot;
  /** How many dead letters wait in their queue; null without one, or where it does not answer. */
  deadLetterDepth(): Promise<number | null>;
  /** Resolves with the reason once it has stopped by itself (G4); never if it is told to. */
  readonly failed: Promise<TidegateError>;
  /** Resolves when the queue holds nothing, nothing is in hand, and all that is told. */
  idle(signal?: AbortSignal): Promise<void>;
  /** Takes nothing new, lets what has begun come to an end, and closes everything. */
  drain(): Promise<void>;
  /** Closes everything at once; what was not done comes back by itself. */
  stop(): Promise<void>;
}

/** How often a queue is asked whether it is empty. */
const SETTLED_LOOK_MS = durationMs(25);

/** Starts a pipeline on a site, which is closed with it. */
export async function runPipeline(
  pipeline: Pipeline,
  site: Environment,
  settings: FilledSettings & { readonly ledger: string },
  options: StartOptions = {},
): Promise<RunningPipeline> {
  const closers: (() => Promise<unknown>)[] = [() => site.close()];
  const closeAll = async () => {
    for (let close = closers.pop(); close !== undefined; close = closers.pop()) await close();
  };
  const onError = options.onError ?? ((error: unknown) => console.error(error));
  const runId = systemPorts.random.uuid();
  try {
    const telemetry = await openTelemetry(pipeline, settings, runId, options);
    const ledger = await openLedger(settings.ledger, systemPorts);
    closers.push(() => ledger.close());
    const sink = await openSink(pipeline, ledger, parseLedgerUrl(settings.ledger));
    if (sink !== null) closers.push(() => sink.close());
    const findings = await checkQueues(pipeline, site);
    const keeper = await site.openRenewer(ledger, settings.ledger, telemetry);
    closers.push(() => keeper.close());
    const { queue, deadLetters, objects } = site;
    const rows = createRowReader();
    const consumer = createConsumer(
      { ...systemPorts, queue, deadLetters, ledger, objects, rows, sink, keeper, telemetry },
      { pipeline, owner: ownerOf(runId), runId, drainMs: durationMs(settings.drainMs) },
    );
    let draining = false;
    const health = () => healthOf(pipeline, consumer, draining);
    const metrics = () => ({ text: telemetry.metricsText(), type: METRICS_CONTENT_TYPE });
    const source = { metrics, health, onError };
    const listener = await startMetricsListener(source, settings.metricsPort);
    closers.unshift(() => listener.close()); // G3
    await consumer.start();
    const end = endOnce(closeAll, () => {
      draining = true;
    });
    return {
      name: pipeline.name,
      queueName: queue.name,
      deadLetterQueueName: deadLetters?.name ?? null,
      metricsOrigin: listener.origin,
      findings,
      snapshot: () => consumer.snapshot(),
      deadLetterDepth: () => depthOf(deadLetters),
      failed: failureOf(keeper, () => end(() => consumer.stop())),
      idle: (signal) => settled(queue, consumer, signal),
      drain: () => end(() => consumer.drain()),
      stop: () => end(() => consumer.stop()),
      [Symbol.asyncDispose]: () => end(() => consumer.stop()),
    };
  } catch (error) {
    await closeAll(); // G1
    throw error;
  }
}

/** A stop hurries a drain along that has begun; once all is closed, neither does anything. */
function endOnce(closeAll: () => Promise<void>, begin: () => void) {
  let closing: Promise<void> | null = null;
  return async (end: () => Promise<void>): Promise<void> => {
    begin();
    if (closing === null) await end();
    closing ??= closeAll();
    await closing;
  };
}

/** Stops what cannot go on, and tells why (G4). */
async function failureOf(keeper: LeaseRenewer, stop: () => Promise<void>): Promise<TidegateError> {
  const reason = await (keeper.ended ?? new Promise<never>(() => undefined));
  await stop().catch(() => undefined); // The reason for stopping is what matters.
  return new TidegateError("TG_LEASE_RENEWAL_STOPPED", `the pipeline has stopped: ${reason}`);
}

async function openTelemetry(
  { name }: Pipeline,
  { logLevel: level }: FilledSettings,
  runId: string,
  { onLogLine }: StartOptions,
) {
  return createTelemetry({
    metrics: [CONSUMER_METRICS],
    clock: systemPorts.clock,
    logs: { level, to: onLogLine ?? 2, fields: { pipeline: name, run_id: runId } },
    tracing: await loadTracing("tidegate"),
  });
}

/** Names this consumer in the ledger, to people as well. */
function ownerOf(runId: string): string {
  return `${hostname()}:${process.pid}:${runId.slice(0, 8)}`;
}

async function checkQueues(pipeline: Pipeline, site: Environment): Promise<string[]> {
  const { queue, deadLetters } = site;
  const facts = await queue.facts();
  // Some may send to the dead-letter queue and not look at it, which the findings tell.
  const dead: QueueFacts | null = (await deadLetters?.facts().catch(() => null)) ?? null;
  const { visibilityMs, onPoison, retry } = pipeline;
  const found = queueFindings({
    queue: { ...facts, name: queue.name, fifo: queue.fifo },
    deadLetters: dead,
    pipeline: { attempts: retry.attempts, visibilityMs, onPoison },
  });
  return found.map(({ message }) => message); // G2
}

async function depthOf(queue: Queue | null): Promise<number | null> {
  const facts = await queue?.facts().catch(() => undefined);
  return facts === undefined ? null : facts.visible + facts.hidden + facts.delayed;
}

async function settled(queue: Queue, consumer: Consumer, signal?: AbortSignal): Promise<void> {
  for (;;) {
    signal?.throwIfAborted();
    await consumer.idle();
    const { visible, hidden, delayed } = await queue.facts();
    const { inFlight, waiting } = consumer.snapshot();
    if (visible + hidden + delayed + inFlight + waiting === 0) return;
    await systemPorts.clock.sleep(SETTLED_LOOK_MS, signal);
  }
}

function healthOf({ name }: Pipeline, consumer: Consumer, draining: boolean) {
  const { breaker, inFlight, waiting, oldestUnsettledAt } = consumer.snapshot();
  return {
    ok: !draining,
    facts: { pipeline: name, breaker, in_flight: inFlight, waiting, oldestUnsettledAt },
  };
}
