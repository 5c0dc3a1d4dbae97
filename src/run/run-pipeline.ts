// Run pipeline: a pipeline started in an environment that is already open.
//   G1. If starting fails, everything that was opened is closed again, in reverse order.
//   G2. A combination that cannot work is rejected before the first delivery. One that works but
//       should be changed is reported as a finding.
//   G3. Closing reverses opening, and happens once, however often it is requested. The metrics
//       listener closes last, so that a drain can be observed.
//   G4. A pipeline whose leases are no longer renewed stops by itself and reports why. Otherwise it
//       would receive and lose messages until the redrive policy had moved the whole queue.

import { hostname } from "node:os";
import { TidegateError } from "../core/errors.ts";
import { days, durationMs } from "../core/units.ts";
import { queueFindings } from "../ingest/policy/queue-check.ts";
import {
  type Consumer,
  type ConsumerSnapshot,
  createConsumer,
} from "../ingest/running/consumer.ts";
import type { Pipeline } from "../ingest/spec/define-pipeline.ts";
import { CONSUMER_METRICS } from "../ingest/telemetry/metrics.ts";
import { systemPorts } from "../platform/index.ts";
import { printError } from "../platform/print-error.ts";
import type { LeaseRenewer } from "../ports/lease-renewer.ts";
import type { Queue, QueueFacts } from "../ports/queue-receiver.ts";
import { createRowReader } from "../readers/row-reader.ts";
import { createTelemetry } from "../telemetry/create-telemetry.ts";
import { METRICS_CONTENT_TYPE } from "../telemetry/prometheus-text.ts";
import { loadTracing } from "../telemetry/tracing.ts";
import type { FilledSettings } from "./config.ts";
import type { OpenRenewer, RenewalTerms } from "./leases/open-renewer.ts";
import { startMetricsListener } from "./metrics-listener.ts";
import type { Environment } from "./open/environment.ts";
import { openLedger } from "./open/open-ledger.ts";
import { openSink } from "./open/open-sink.ts";
import { parseStoreUrl } from "./open/store-url.ts";
import type { PreparedRun, ReadySettings } from "./prepare-run.ts";
import { startLedgerPurger } from "./upkeep/ledger-purger.ts";

/** What a pipeline runs on. */
export interface PipelineHost {
  readonly environment: Environment;
  readonly openRenewer: OpenRenewer;
}

/** Where log lines and failures go, and how a start is cancelled. */
export interface StartOptions {
  /** Receives the log lines. Default: stderr. */
  readonly onLogLine?: (line: string) => void;
  /** Receives failures that no caller waits for. Default: stderr. */
  readonly onError?: (error: unknown) => void;
  /** Ends the wait for a queue that does not answer at the start. */
  readonly signal?: AbortSignal;
}

/** A started pipeline. Disposing it stops it. */
export interface RunningPipeline extends AsyncDisposable {
  readonly name: string;
  readonly queueName: string;
  /** Null if dead-lettered records stay in their own queue. */
  readonly deadLetterQueueName: string | null;
  /** Origin of /metrics and /health: `http://127.0.0.1:port`. */
  readonly metricsOrigin: string;
  /** Problems of the queues' configuration, each with its fix. */
  readonly findings: readonly string[];
  /** The settings it runs with, defaults included. */
  readonly settings: ReadySettings;
  snapshot(): ConsumerSnapshot;
  /** Messages in the dead-letter queue; null if there is none, or if it does not answer. */
  deadLetterDepth(): Promise<number | null>;
  /** Resolves with the reason if the pipeline stops by itself (G4). */
  readonly failed: Promise<TidegateError>;
  /** Resolves when the queue is empty, nothing is in flight, and all telemetry is reported. */
  idle(signal?: AbortSignal): Promise<void>;
  /** Stops receiving, waits for running handlers, and closes everything. */
  drain(): Promise<void>;
  /** Closes everything immediately; unfinished messages are redelivered. */
  stop(): Promise<void>;
}

/** How often a queue is checked for being empty. */
const IDLE_POLL_MS = durationMs(25);

/** Starts a pipeline; the environment is closed with it. */
export async function runPipeline(
  { pipeline, settings }: PreparedRun,
  { environment, openRenewer }: PipelineHost,
  options: StartOptions = {},
): Promise<RunningPipeline> {
  const closers: (() => Promise<unknown>)[] = [() => environment.close()];
  const closeAll = async () => {
    for (let close = closers.pop(); close !== undefined; close = closers.pop()) await close();
  };
  const onError = options.onError ?? printError;
  const runId = systemPorts.random.uuid();
  try {
    const telemetry = await openTelemetry(pipeline, settings, runId, options);
    const terms = termsOf(pipeline);
    const { retentionMs } = terms;
    const ledger = await openLedger(settings.ledger, systemPorts, { retentionMs });
    closers.push(() => ledger.close());
    const location = parseStoreUrl(settings.ledger, "ledger");
    const sink = await openSink(pipeline, ledger, location);
    if (sink !== null) closers.push(() => sink.close());
    const findings = await checkQueues(pipeline, environment);
    const renewer = await openRenewer({ ledger, url: settings.ledger }, terms, telemetry);
    closers.push(() => renewer.close());
    const { queue, deadLetters, objects } = environment;
    const rows = createRowReader(systemPorts);
    const consumer = createConsumer(
      { ...systemPorts, queue, deadLetters, ledger, objects, rows, sink, renewer, telemetry },
      { pipeline, owner: ownerOf(runId), runId, drainMs: durationMs(settings.drainMs) },
    );
    let draining = false;
    const health = () => healthOf(pipeline, consumer, draining);
    const metrics = () => ({ text: telemetry.metricsText(), type: METRICS_CONTENT_TYPE });
    const listener = await startMetricsListener({ metrics, health, onError }, settings.metricsPort);
    closers.unshift(() => listener.close()); // G3
    await consumer.start();
    const purger = startLedgerPurger({ ...systemPorts, telemetry, ledger }, location.store);
    closers.push(() => purger.close());
    const end = endOnce(closeAll, () => {
      draining = true;
    });
    return {
      name: pipeline.name,
      queueName: queue.name,
      deadLetterQueueName: deadLetters?.name ?? null,
      metricsOrigin: listener.origin,
      findings,
      settings,
      snapshot: () => consumer.snapshot(),
      deadLetterDepth: () => depthOf(deadLetters),
      failed: failureOf(renewer, () => end(() => consumer.stop())),
      idle: (signal) => untilIdle(queue, consumer, signal),
      drain: () => end(() => consumer.drain()),
      stop: () => end(() => consumer.stop()),
      [Symbol.asyncDispose]: () => end(() => consumer.stop()),
    };
  } catch (error) {
    await closeAll(); // G1
    throw error;
  }
}

/** A stop interrupts a drain that is in progress; after closing, neither has an effect. */
function endOnce(closeAll: () => Promise<void>, begin: () => void) {
  let closing: Promise<void> | null = null;
  return async (end: () => Promise<void>): Promise<void> => {
    begin();
    if (closing === null) await end();
    closing ??= closeAll();
    await closing;
  };
}

function termsOf({ name, generation, visibilityMs, ledgerRetentionDays }: Pipeline): RenewalTerms {
  return {
    scope: { pipeline: name, generation },
    visibilityMs,
    leaseMs: visibilityMs,
    retentionMs: days(ledgerRetentionDays),
  };
}

/** Stops the pipeline when the renewer ends, and resolves with the reason (G4). */
async function failureOf(renewer: LeaseRenewer, stop: () => Promise<void>): Promise<TidegateError> {
  const reason = await (renewer.ended ?? new Promise<never>(() => undefined));
  await stop().catch(() => undefined); // The renewer's reason matters more.
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

/** Identifies this consumer in the ledger, readably. */
function ownerOf(runId: string): string {
  return `${hostname()}:${process.pid}:${runId.slice(0, 8)}`;
}

async function checkQueues(
  pipeline: Pipeline,
  { queue, deadLetters }: Environment,
): Promise<string[]> {
  const facts = await queue.facts();
  // A role may be allowed to send to the dead-letter queue and not to read its attributes.
  const dead: QueueFacts | null = (await deadLetters?.facts().catch(() => null)) ?? null;
  const { visibilityMs, onPoison, retry } = pipeline;
  const findings = queueFindings({
    queue: { ...facts, name: queue.name, fifo: queue.fifo },
    deadLetters: dead,
    pipeline: { attempts: retry.attempts, visibilityMs, onPoison },
  });
  return findings.map(({ message }) => message); // G2
}

async function depthOf(queue: Queue | null): Promise<number | null> {
  const facts = await queue?.facts().catch(() => undefined);
  return facts === undefined ? null : facts.visible + facts.hidden + facts.delayed;
}

async function untilIdle(queue: Queue, consumer: Consumer, signal?: AbortSignal): Promise<void> {
  for (;;) {
    signal?.throwIfAborted();
    await consumer.idle();
    const { visible, hidden, delayed } = await queue.facts();
    const { inFlight, waiting } = consumer.snapshot();
    if (visible + hidden + delayed + inFlight + waiting === 0) return;
    await systemPorts.clock.sleep(IDLE_POLL_MS, signal);
  }
}

function healthOf({ name }: Pipeline, consumer: Consumer, draining: boolean) {
  const { breaker, inFlight, waiting, oldestUnsettledAt } = consumer.snapshot();
  return {
    ok: !draining,
    facts: { pipeline: name, breaker, in_flight: inFlight, waiting, oldestUnsettledAt },
  };
}
