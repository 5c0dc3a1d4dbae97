// Open backfill: a pipeline's ledger, sink, bucket and stages, without its queue. The queue is only
// opened to find the dead-letter queue, and nothing is received from it.
//   O1. A dry run opens the ledger for reading and no sink: it writes nothing.

import { hostname } from "node:os";
import { TidegateError } from "../../core/errors.ts";
import { type DurationMs, days, durationMs, seconds } from "../../core/units.ts";
import { createBatchRunner } from "../../ingest/running/batch-runner.ts";
import { INERT_WATERMARK } from "../../ingest/running/inert-watermark.ts";
import type { Pause } from "../../ingest/running/pause.ts";
import type { Pipeline } from "../../ingest/spec/define-pipeline.ts";
import type { VersionOrder } from "../../ingest/stages/confirm.ts";
import { CONSUMER_METRICS } from "../../ingest/telemetry/metrics.ts";
import { systemCallLimit } from "../../platform/call-limit.ts";
import { systemPorts } from "../../platform/index.ts";
import { packageVersion } from "../../platform/package-version.ts";
import type { Ledger } from "../../ports/ledger.ts";
import type { ListedObject, ObjectLister } from "../../ports/objects/object-lister.ts";
import type { Sink } from "../../ports/sink.ts";
import { createRowReader } from "../../readers/row-reader.ts";
import {
  type BackfillProgress,
  type BackfillRequest,
  type BackfillResult,
  runBackfill,
} from "../../replay/backfill.ts";
import { OpenedObjects } from "../../replay/opened-objects.ts";
import { ListedVersions } from "../../replay/version-order.ts";
import { createTelemetry } from "../../telemetry/create-telemetry.ts";
import { loadTracing } from "../../telemetry/tracing.ts";
import type { RunSettings } from "../config.ts";
import { devNames } from "../dev/dev-setup.ts";
import { lateQueueOf } from "../late/open-completeness.ts";
import { openAwsEnvironment, openAwsLister } from "../open/aws-environment.ts";
import { findServer, type Server } from "../open/find-server.ts";
import { openLedger } from "../open/open-ledger.ts";
import { openSink } from "../open/open-sink.ts";
import { parseStoreUrl } from "../open/store-url.ts";
import { ensureLedgerFolder, type PreparedRun, prepareRun } from "../prepare-run.ts";
import { digestOfFile, digestOfFunctions } from "../runs/code-digest.ts";
import { configDigest } from "../runs/config-digest.ts";

/** Beyond handler and commit. A process that is killed blocks its claims for the whole time. */
const BATCH_GRACE_MS: DurationMs = seconds(5);

/** A backfill that is asked for. */
export interface BackfillCall extends Partial<Omit<BackfillRequest, "bucket">> {
  /** Default: the bucket of the pipeline. */
  readonly bucket?: string | undefined;
  /** Objects per second. Default: as fast as the pipeline is. */
  readonly rate?: number | undefined;
  readonly dryRun?: boolean;
  /** The file of the pipeline, for the code digest of the run. */
  readonly file?: string;
  readonly signal?: AbortSignal;
  readonly onProgress?: (progress: BackfillProgress) => void;
  /** Called when a pause of the pipeline makes it wait, and with null when it continues. */
  readonly onPause?: (pause: Pause | null) => void;
  readonly onLogLine?: (line: string) => void;
  /** Which objects to take in, in addition to the rest of the call. */
  readonly only?: (object: ListedObject) => boolean;
}

/** What `open` has opened; closing it closes everything, in reverse order. */
interface Opened {
  readonly ledger: Ledger;
  readonly server: Server;
  readonly lister: ObjectLister;
  readonly closers: (() => unknown)[];
}

/** Takes the objects of a bucket through a pipeline, as `tidegate backfill` does. */
export async function backfill(
  pipeline: Pipeline,
  settings: RunSettings,
  call: BackfillCall,
): Promise<BackfillResult> {
  const prepared = prepareRun("run", pipeline, settings);
  const request = requestOf(prepared.pipeline, call);
  const { dryRun = false, signal = new AbortController().signal, onProgress } = call;
  const opened = await openStores(prepared, dryRun);
  const runId = systemPorts.random.uuid();
  try {
    const order = new ListedVersions();
    const isNewer = request.versions ? order.isNewer : undefined;
    const runner = dryRun ? null : await openRunner(prepared, opened, runId, { ...call, isNewer });
    const { name, generation, timeoutMs, onRemoved } = prepared.pipeline;
    const options = {
      scope: { pipeline: name, generation },
      request,
      runId,
      digests: digestsOf(prepared, call.file),
      rate: call.rate ?? null,
      dryRun,
      onPause: call.onPause,
      skipDeleted: onRemoved !== "ignore",
      batchMs: durationMs(timeoutMs * 2 + BATCH_GRACE_MS),
      ...(call.only !== undefined && { only: call.only }),
    };
    const ports = { ...systemPorts, ...opened, runner, order };
    return await runBackfill(ports, options, signal, onProgress);
  } finally {
    for (const close of opened.closers.toReversed()) await close();
  }
}

/** The bucket and prefix that a pipeline and a call name. */
export function requestOf({ source }: Pipeline, call: BackfillCall): BackfillRequest {
  const { prefix = source.prefix, since = null, until = null, versions = false } = call;
  if (source.contents !== "objects") {
    refuse("the pipeline reads messages, not objects of a bucket; there is nothing to list");
  }
  const bucket = call.bucket ?? source.bucket;
  if (bucket === null) refuse("the pipeline names no bucket; set --bucket");
  if (source.bucket !== null && bucket !== source.bucket) {
    refuse(`--bucket ${bucket} is not the bucket of the pipeline, which is ${source.bucket}`);
  }
  if (!prefix.startsWith(source.prefix)) {
    refuse(`--prefix ${prefix} is outside of the pipeline's prefix ${source.prefix}`);
  }
  return { bucket, prefix, since, until, versions };
}

function refuse(message: string): never {
  throw new TidegateError("TG_CONFIG_INVALID", message);
}

async function openStores({ pipeline, settings }: PreparedRun, dryRun: boolean): Promise<Opened> {
  const { acceptClock = false, ledger: url } = settings;
  const server = await findServer(settings);
  if (!dryRun) ensureLedgerFolder(url);
  const retentionMs = days(pipeline.ledgerRetentionDays);
  const options = dryRun ? { readOnly: true } : { retentionMs, acceptClock };
  const ledger = await openLedger(url, systemPorts, options); // O1
  const listing = await openAwsLister(server);
  const closers = [() => ledger.close(), listing.close];
  return { ledger, server, lister: listing.lister, closers };
}

async function openRunner(
  { pipeline, settings }: PreparedRun,
  { ledger, server, closers }: Opened,
  runId: string,
  call: BackfillCall & { readonly isNewer: VersionOrder | undefined },
) {
  const { onLogLine, isNewer, signal: lasting = new AbortController().signal } = call;
  const { deadLetterQueue, logLevel: level } = settings;
  const name = settings.queue ?? pipeline.source.queue ?? devNames(pipeline).queue;
  const lateQueue = lateQueueOf(pipeline);
  const queues = { queue: name, deadLetterQueue, lateQueue, server };
  const environment = await openAwsEnvironment(queues);
  closers.push(() => environment.close());
  const sink: Sink | null = await openSink(
    pipeline,
    ledger,
    parseStoreUrl(settings.ledger, "ledger"),
  );
  if (sink !== null) closers.push(() => sink.close());
  const fields = { pipeline: pipeline.name, run_id: runId };
  const telemetry = createTelemetry({
    metrics: [CONSUMER_METRICS],
    clock: systemPorts.clock,
    logs: { level, to: onLogLine ?? 2, fields },
    tracing: await loadTracing("tidegate"),
  });
  const { queue, deadLetters, objects } = environment;
  const runner = createBatchRunner(
    {
      ...systemPorts,
      queue: { name: queue.name, fifo: false },
      deadLetters,
      lateQueue: environment.lateQueue ?? null,
      callLimit: systemCallLimit,
      ledger,
      objects: objects === null ? null : new OpenedObjects(objects, lasting),
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

function digestsOf({ pipeline, settings }: PreparedRun, file: string | undefined) {
  const { platform, arch, version: node } = process;
  const environment = { tidegate: packageVersion(), node, platform, arch, host: hostname() };
  return {
    codeDigest: file === undefined ? digestOfFunctions(pipeline) : digestOfFile(file),
    configDigest: configDigest(pipeline, settings),
    environment: JSON.stringify(environment),
  };
}
