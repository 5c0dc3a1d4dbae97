// Run pipeline: a pipeline started in an environment that is already open.
//   G1. If starting fails, everything that was opened is closed again, in reverse order.
//   G2. A combination that cannot work is rejected before the first delivery. One that works but
//       should be changed is reported as a finding.
//   G3. Closing reverses opening, and happens once, however often it is requested. The metrics
//       listener closes last, so that a drain can be observed.
//   G4. A pipeline whose leases are no longer renewed stops by itself and reports why. Otherwise it
//       would receive and lose messages until the redrive policy had moved the whole queue.

import { hostname } from "node:os";
import { parseHostNames } from "../cloud/host-names.ts";
import { TidegateError } from "../core/errors.ts";
import { days, durationMs } from "../core/units.ts";
import { startFindings } from "../doctor/start-check.ts";
import type { Completeness } from "../ingest/late/complete-up-to.ts";
import { messageOf } from "../ingest/policy/error-text.ts";
import {
  type Consumer,
  type ConsumerOptions,
  type ConsumerSnapshot,
  createConsumer,
} from "../ingest/running/consumer.ts";
import type { AbandonedWork } from "../ingest/running/running-work.ts";
import type { Pipeline } from "../ingest/spec/define-pipeline.ts";
import { CONSUMER_METRICS } from "../ingest/telemetry/metrics.ts";
import { systemCallLimit } from "../platform/call-limit.ts";
import { systemPorts } from "../platform/index.ts";
import { printError } from "../platform/print-error.ts";
import type { LeaseRenewer } from "../ports/lease-renewer.ts";
import type { Queue, QueueFacts } from "../ports/queue-receiver.ts";
import { createRowReader } from "../readers/row-reader.ts";
import { createTelemetry, type ProcessTelemetry } from "../telemetry/create-telemetry.ts";
import type { OtlpExport } from "../telemetry/otlp-export.ts";
import { loadTracing } from "../telemetry/tracing.ts";
import type { FilledSettings } from "./config.ts";
import type { OpenRenewer, RenewalTerms } from "./leases/open-renewer.ts";
import {
  type MetricsListener,
  type MetricsSource,
  startMetricsListener,
} from "./metrics-listener.ts";
import type { Environment } from "./open/environment.ts";
import { findServer, type Server } from "./open/find-server.ts";
import { openArchive } from "./open/open-archive.ts";
import { openLedger } from "./open/open-ledger.ts";
import { openSink } from "./open/open-sink.ts";
import { parseStoreUrl } from "./open/store-url.ts";
import { waitForLedger } from "./open/wait-for-queue.ts";
import type { PreparedRun, ReadySettings } from "./prepare-run.ts";
import { startLateUpkeep } from "./upkeep/late-upkeep.ts";
import { startRecording } from "./upkeep/start-recording.ts";
import { startUpkeep } from "./upkeep/start-upkeep.ts";
import { untilIdle, whenFinished } from "./when-finished.ts";

/** What a pipeline runs on. */
export interface PipelineHost {
  readonly environment: Environment;
  readonly openRenewer: OpenRenewer;
  /** Where S3 is, for archives, audits, and manifests in a bucket. Default: by the settings. */
  readonly server?: Server;
  /** As in the options of a consumer. */
  readonly prefetch?: ConsumerOptions["prefetch"];
}

/** Where log lines and failures go, and how a start is cancelled. */
export interface StartOptions {
  /** Receives the log lines. Default: stderr. */
  readonly onLogLine?: (line: string) => void;
  /** Receives failures that no caller waits for. Default: stderr. */
  readonly onError?: (error: unknown) => void;
  /** Exports spans and metrics. The caller closes it, after the pipeline. Default: none. */
  readonly otlp?: OtlpExport | null;
  /** Ends the wait for a queue or a ledger that does not answer at the start. */
  readonly signal?: AbortSignal;
  /**
   * The file of the pipeline: the code digest of the run covers it and its local imports. Default:
   * the digest covers the pipeline's functions.
   */
  readonly file?: string;
}

/** A started pipeline. Disposing it stops it. */
export interface RunningPipeline extends AsyncDisposable {
  readonly name: string;
  /** Identifies this process life in the ledger, in logs and in records. */
  readonly runId: string;
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
  /** Up to which event time everything that arrived is settled, and what holds it back. */
  completeUpTo(): Promise<Completeness>;
  /** Resolves with the reason if the pipeline stops by itself (G4). */
  readonly failed: Promise<TidegateError>;
  /**
   * Resolves with the reason when the pipeline has done what `once`, `maxMessages` or
   * `exitWhenIdle` asks for. It keeps running until it is drained or stopped.
   */
  readonly finished: Promise<string>;
  /** Resolves when the queue is empty, nothing is in flight, and all telemetry is reported. */
  idle(signal?: AbortSignal): Promise<void>;
  /**
   * Stops receiving, waits for running handlers, and closes everything. Resolves with the handlers
   * that ignore their signal and still run: their messages are returned, and they commit nothing.
   */
  drain(): Promise<readonly AbandonedWork[]>;
  /** Closes everything immediately; unfinished messages are redelivered. Resolves as `drain`. */
  stop(): Promise<readonly AbandonedWork[]>;
}

/** Starts a pipeline; the environment is closed with it. */
export async function runPipeline(
  prepared: PreparedRun,
  { environment, openRenewer, prefetch, server: given }: PipelineHost,
  options: StartOptions = {},
): Promise<RunningPipeline> {
  const { pipeline, settings } = prepared;
  const { onError = printError, file } = options;
  const closers: (() => Promise<unknown>)[] = [() => environment.close()];
  const closeAll = () => closeInTurn(closers);
  const runId = systemPorts.random.uuid();
  const state: RunState = { draining: false, failure: null };
  try {
    const telemetry = await openTelemetry(pipeline, settings, runId, options);
    const terms = termsOf(pipeline);
    const ledger = await openRunLedger(terms, settings, telemetry, options);
    closers.push(() => ledger.close());
    const sink = await openSink(pipeline, ledger, parseStoreUrl(settings.ledger, "ledger"));
    if (sink !== null) closers.push(() => sink.close());
    const findings = await checkQueues(pipeline, environment);
    const renewer = await openRenewer({ ledger, url: settings.ledger }, terms, telemetry);
    closers.push(() => renewer.close());
    const ports = await openPorts(closers, prepared, environment, given);
    const consumer = createConsumer(
      { ...ports, ledger, rows: createRowReader(systemPorts), sink, renewer, telemetry },
      { pipeline, runId, prefetch, ...consumerOptionsOf(settings, runId) },
    );
    const health = () => healthOf(pipeline, consumer, state.draining);
    const listener = await openListener({ telemetry, health, onError }, settings);
    closers.unshift(() => listener.close()); // G3
    const shared = { ...ports, ledger, telemetry, sink, file };
    closers.push(await startRecording({ ...shared, consumer, runId, state }, prepared));
    await consumer.start();
    const late = startLateUpkeep(shared, pipeline);
    const upkeep = [late, ...startUpkeep(pipeline, settings, shared)];
    closers.push(() => Promise.all(upkeep.map((each) => each.close())));
    const end = endOnce(closeAll, state);
    return {
      name: pipeline.name,
      runId,
      queueName: ports.queue.name,
      deadLetterQueueName: ports.deadLetters?.name ?? null,
      metricsOrigin: listener.origin,
      findings,
      settings,
      snapshot: () => consumer.snapshot(),
      deadLetterDepth: () => depthOf(ports.deadLetters),
      completeUpTo: late.completeUpTo,
      failed: failureOf(renewer, state, () => end(() => consumer.stop())),
      finished: whenFinished(settings, consumer, ports.queue),
      idle: (signal) => untilIdle(ports.queue, consumer, signal),
      drain: () => end(() => consumer.drain()),
      stop: () => end(() => consumer.stop()),
      [Symbol.asyncDispose]: async () => void (await end(() => consumer.stop())),
    };
  } catch (error) {
    state.failure = messageOf(error);
    await closeAll(); // G1
    throw error;
  }
}

interface RunState {
  draining: boolean;
  /** Why the run ends, if not as it should. */
  failure: string | null;
}

/** The environment, where S3 is, and the archive of messages, which is closed with the rest. */
async function openPorts(
  closers: (() => Promise<unknown>)[],
  { pipeline, settings }: PreparedRun,
  environment: Environment,
  given: Server | undefined,
) {
  const server = given ?? (await findServer(settings));
  const { archive, close } = await openArchive(pipeline, server);
  closers.push(close);
  return { ...systemPorts, ...environment, callLimit: systemCallLimit, archive, server };
}

/** G1, G3 */
async function closeInTurn(closers: (() => Promise<unknown>)[]): Promise<void> {
  for (let close = closers.pop(); close !== undefined; close = closers.pop()) await close();
}

function openListener(
  source: Omit<MetricsSource, "metrics"> & { readonly telemetry: ProcessTelemetry },
  { metricsPort: port, metricsHost: host, allowHost }: FilledSettings,
): Promise<MetricsListener> {
  const { telemetry, ...rest } = source;
  const address = { port, host, allowedHosts: parseHostNames(allowHost) };
  return startMetricsListener({ ...rest, metrics: telemetry.metricsPage }, address);
}

/** A stop interrupts a drain that is in progress; after closing, neither has an effect. */
function endOnce(closeAll: () => Promise<void>, state: RunState) {
  let closing: Promise<void> | null = null;
  let abandoned: readonly AbandonedWork[] = [];
  return async (end: () => Promise<readonly AbandonedWork[]>) => {
    state.draining = true;
    if (closing === null) abandoned = await end();
    closing ??= closeAll();
    await closing;
    return abandoned;
  };
}

/** Waits for a ledger whose server is not up yet. */
function openRunLedger(
  { retentionMs }: RenewalTerms,
  { ledger, acceptClock = false }: ReadySettings,
  telemetry: ProcessTelemetry,
  { signal }: StartOptions,
) {
  const open = () => openLedger(ledger, systemPorts, { retentionMs, acceptClock });
  const ports = { clock: systemPorts.clock, log: telemetry.log.bind(telemetry) };
  return waitForLedger(ports, open, signal);
}

function termsOf({ name, generation, visibilityMs, retention }: Pipeline): RenewalTerms {
  return {
    scope: { pipeline: name, generation },
    visibilityMs,
    leaseMs: visibilityMs,
    retentionMs: days(retention.ledgerDays),
  };
}

/** Stops the pipeline when the renewer ends, and resolves with the reason (G4). */
async function failureOf(
  renewer: LeaseRenewer,
  state: RunState,
  stop: () => Promise<unknown>,
): Promise<TidegateError> {
  const reason = await (renewer.ended ?? new Promise<never>(() => undefined));
  state.failure = reason;
  await stop().catch(() => undefined); // The renewer's reason matters more.
  return new TidegateError("TG_LEASE_RENEWAL_STOPPED", `the pipeline has stopped: ${reason}`);
}

async function openTelemetry(
  { name }: Pipeline,
  { logLevel: level }: FilledSettings,
  runId: string,
  { onLogLine, otlp = null }: StartOptions,
) {
  return createTelemetry({
    metrics: [CONSUMER_METRICS],
    otlp,
    scope: { "tidegate.pipeline": name },
    clock: systemPorts.clock,
    logs: { level, to: onLogLine ?? 2, fields: { pipeline: name, run_id: runId } },
    tracing: await loadTracing("tidegate"),
  });
}

function consumerOptionsOf({ maxMessages, drainMs }: FilledSettings, runId: string) {
  return { owner: ownerOf(runId), messagesMax: maxMessages, drainMs: durationMs(drainMs) };
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
  const findings = startFindings({
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

function healthOf({ name }: Pipeline, consumer: Consumer, draining: boolean) {
  const { breaker, inFlight, waiting, oldestUnsettledAt } = consumer.snapshot();
  return {
    ok: !draining,
    facts: { pipeline: name, breaker, in_flight: inFlight, waiting, oldestUnsettledAt },
  };
}
