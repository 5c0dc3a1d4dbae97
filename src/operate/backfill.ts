// Backfill: takes what is in a bucket through a pipeline, without its queue. The queue is only
// opened to find the dead-letter queue, and nothing is received from it.
//   B1. A dry run opens the ledger for reading and no sink: it writes nothing.
//   B2. A backfill that ends early is continued by the next one with the same request.

import { hostname } from "node:os";
import {
  type BackfillProgress,
  type BackfillResult,
  type BackfillWindow,
  runBackfill,
} from "../backfill/backfill.ts";
import { ListedVersions } from "../backfill/version-order.ts";
import { present } from "../core/assert.ts";
import { type Progress, progressOfAction, type Report } from "../core/progress.ts";
import { type DurationMs, days, durationMs, epochMs, seconds } from "../core/units.ts";
import { type BatchRunner, createBatchRunner } from "../ingest/running/batch-runner.ts";
import { INERT_WATERMARK } from "../ingest/running/inert-watermark.ts";
import type { Pause } from "../ingest/running/pause.ts";
import type { Pipeline } from "../ingest/spec/define-pipeline.ts";
import { listedPartOf } from "../ingest/spec/listed-part.ts";
import type { VersionOrder } from "../ingest/stages/confirm.ts";
import { CONSUMER_METRICS } from "../ingest/telemetry/metrics.ts";
import { systemCallLimit } from "../platform/call-limit.ts";
import { systemPorts } from "../platform/index.ts";
import type { Ledger } from "../ports/ledger.ts";
import type { ListedObject } from "../ports/objects/object-lister.ts";
import type { ObjectSource } from "../ports/objects/object-source.ts";
import type { QueueSender } from "../ports/queue.ts";
import type { Queue } from "../ports/queue-receiver.ts";
import { createRowReader } from "../readers/row-reader.ts";
import { OpenedObjects } from "../replay/opened-objects.ts";
import { devNames } from "../run/dev/dev-setup.ts";
import { closeAll } from "../run/open/close-all.ts";
import { openSink } from "../run/open/open-sink.ts";
import { parseStoreUrl } from "../run/open/store-url.ts";
import { ensureLedgerFolder, type PreparedRun } from "../run/prepare-run.ts";
import { digestsOfRun } from "../run/upkeep/record-run.ts";
import { createTelemetry } from "../telemetry/create-telemetry.ts";
import { loadTracing } from "../telemetry/tracing.ts";
import type { Sources } from "./sources.ts";

export type { BackfillProgress, BackfillResult } from "../backfill/backfill.ts";

/** Which objects a backfill takes in, and how. */
export interface BackfillRequest {
  /** Objects last modified at this time or later, in milliseconds since 1970. Default: all. */
  readonly since?: number | null | undefined;
  /** Exclusive. Default: now. */
  readonly until?: number | null | undefined;
  /** Default: the bucket of the pipeline. */
  readonly bucket?: string | undefined;
  readonly prefix?: string | undefined;
  /** All versions of each object, the oldest first. Default: the current one. */
  readonly versions?: boolean | undefined;
  /** Objects per second. Default: as fast as the pipeline is. */
  readonly rate?: number | undefined;
  /** Counts what would be taken in, and changes nothing. */
  readonly dryRun?: boolean | undefined;
  /** Which objects to take in, in addition to the rest. */
  readonly only?: ((object: ListedObject) => boolean) | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Receives each line of the log. Default: to stderr. */
  readonly onLogLine?: ((line: string) => void) | undefined;
}

/** How far a backfill is, or that a pause makes it wait; null when it continues. */
export type BackfillStep =
  | ({ readonly kind: "progress" } & BackfillProgress)
  | { readonly kind: "waiting"; readonly pause: Pause | null };

/** Takes the objects of a bucket through the pipeline, each once. */
export type Backfill = (request?: BackfillRequest) => Progress<BackfillStep, BackfillResult>;

/** Beyond handler and commit. A process that is killed blocks its claims for the whole time. */
const BATCH_GRACE_MS: DurationMs = seconds(5);

export function backfillOf(sources: Sources): Backfill {
  return (request = {}) =>
    progressOfAction(
      (report, signal) => backfill(sources, request, report, signal),
      request.signal,
    );
}

async function backfill(
  sources: Sources,
  request: BackfillRequest,
  report: Report<BackfillStep>,
  signal: AbortSignal,
): Promise<BackfillResult> {
  const prepared = await sources.run();
  const { pipeline } = prepared;
  const window = windowOf(pipeline, request);
  const { dryRun = false, rate = null, only, onLogLine } = request;
  if (!dryRun) ensureLedgerFolder(sources.ledgerUrl);
  const retentionMs = days(pipeline.retention.ledgerDays);
  const opened = await sources.openLedger(dryRun ? { readOnly: true } : { retentionMs }); // B1
  const closers: (() => unknown)[] = [opened.close];
  const runId = sources.random.uuid();
  try {
    const { ledger } = opened;
    const order = new ListedVersions();
    const isNewer = window.versions ? order.isNewer : undefined;
    const options = { runId, url: sources.ledgerUrl, isNewer, signal, onLogLine };
    const ports = dryRun ? null : { ledger, ...(await portsOf(sources, pipeline)) };
    const runner = ports === null ? null : await openRunner(prepared, ports, options, closers);
    const lister = await sources.lister();
    const { name, generation, timeoutMs, onRemoved } = pipeline;
    const { clock } = sources;
    return await runBackfill(
      { clock, ledger, lister, runner, order },
      {
        scope: { pipeline: name, generation },
        request: window,
        runId,
        digests: digestsOfRun(prepared, sources.file),
        rate,
        dryRun,
        onPause: (pause) => void report({ kind: "waiting", pause }),
        skipDeleted: onRemoved !== "ignore",
        batchMs: durationMs(timeoutMs * 2 + BATCH_GRACE_MS),
        ...(only !== undefined && { only }),
      },
      signal,
      (progress) => void report({ kind: "progress", ...progress }),
    );
  } finally {
    await closeAll(closers);
  }
}

function windowOf(pipeline: Pipeline, request: BackfillRequest): BackfillWindow {
  const { since = null, until = null, versions = false } = request;
  return {
    ...listedPartOf(pipeline, request),
    since: since === null ? null : epochMs(since),
    until: until === null ? null : epochMs(until),
    versions,
  };
}

async function portsOf(sources: Sources, pipeline: Pipeline) {
  const opened = await sources.queues(async () => devNames(pipeline).queue);
  const { queue, deadLetters, environment } = present(opened, "the queue of a pipeline");
  const lateQueue = environment?.lateQueue ?? null;
  return { queue, deadLetters, lateQueue, objects: await sources.objects() };
}

interface RunnerPorts {
  readonly ledger: Ledger;
  readonly queue: Queue;
  readonly deadLetters: Queue | null;
  readonly lateQueue: QueueSender | null;
  readonly objects: ObjectSource;
}

interface RunnerOptions {
  readonly runId: string;
  /** The URL of the ledger, beside which tables are. */
  readonly url: string;
  readonly isNewer: VersionOrder | undefined;
  readonly signal: AbortSignal;
  readonly onLogLine: ((line: string) => void) | undefined;
}

/** The stages of a pipeline without its queue; `closers` receives what ends them. */
async function openRunner(
  { pipeline, settings }: PreparedRun,
  { ledger, queue, deadLetters, lateQueue, objects }: RunnerPorts,
  { runId, url, isNewer, signal, onLogLine }: RunnerOptions,
  closers: (() => unknown)[],
): Promise<BatchRunner> {
  const sink = await openSink(pipeline, ledger, parseStoreUrl(url, "ledger"));
  if (sink !== null) closers.push(() => sink.close());
  const fields = { pipeline: pipeline.name, run_id: runId };
  const telemetry = createTelemetry({
    metrics: [CONSUMER_METRICS],
    clock: systemPorts.clock,
    logs: { level: settings.logLevel, to: onLogLine ?? 2, fields },
    tracing: await loadTracing("tidegate"),
  });
  const runner = createBatchRunner(
    {
      ...systemPorts,
      queue: { name: queue.name, fifo: false },
      deadLetters,
      lateQueue,
      callLimit: systemCallLimit,
      ledger,
      objects: new OpenedObjects(objects, signal),
      rows: createRowReader(systemPorts),
      sink,
      telemetry,
    },
    {
      pipeline,
      owner: `backfill:${hostname()}:${process.pid}:${runId.slice(0, 8)}`,
      runId,
      watermark: INERT_WATERMARK,
      ...(isNewer !== undefined && { isNewer }),
    },
  );
  closers.push(() => runner.close());
  await runner.start();
  return runner;
}
