// Open runner: the stages of a pipeline without its queue, for a backfill. Nothing is received.

import { hostname } from "node:os";
import { type BatchRunner, createBatchRunner } from "../../ingest/running/batch-runner.ts";
import { INERT_WATERMARK } from "../../ingest/running/inert-watermark.ts";
import type { VersionOrder } from "../../ingest/stages/confirm.ts";
import { CONSUMER_METRICS } from "../../ingest/telemetry/metrics.ts";
import { systemCallLimit } from "../../platform/call-limit.ts";
import { systemPorts } from "../../platform/index.ts";
import type { Ledger } from "../../ports/ledger.ts";
import type { ObjectSource } from "../../ports/objects/object-source.ts";
import type { QueueSender } from "../../ports/queue.ts";
import type { Queue } from "../../ports/queue-receiver.ts";
import { createRowReader } from "../../readers/row-reader.ts";
import { OpenedObjects } from "../../replay/opened-objects.ts";
import { createTelemetry } from "../../telemetry/create-telemetry.ts";
import { loadTracing } from "../../telemetry/tracing.ts";
import { openSink } from "../open/open-sink.ts";
import { parseStoreUrl } from "../open/store-url.ts";
import type { PreparedRun } from "../prepare-run.ts";

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

/** Opens the sink and starts the stages; `closers` receives what ends them. */
export async function openRunner(
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
