// Backfill: takes what is in a bucket through a pipeline, without its queue. The queue is only
// opened to find the dead-letter queue, and nothing is received from it.
//   B1. A dry run opens the ledger for reading and no sink: it writes nothing.
//   B2. A backfill that ends early is continued by the next one with the same request.

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
import type { Pause } from "../ingest/running/pause.ts";
import type { Pipeline } from "../ingest/spec/define-pipeline.ts";
import type { ListedObject } from "../ports/objects/object-lister.ts";
import { openRunner } from "../run/backfill/open-runner.ts";
import { devNames } from "../run/dev/dev-setup.ts";
import { closeAll } from "../run/open/close-all.ts";
import { listedPartOf } from "../run/open/listed-part.ts";
import { ensureLedgerFolder } from "../run/prepare-run.ts";
import { digestsOfRun } from "../run/runs/record-run.ts";
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
  const retentionMs = days(pipeline.ledgerRetentionDays);
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
