// Start pipeline: `tidegate run` as a function.
//   P1. It waits for a queue that does not answer yet; any other failure ends the start.

import { TidegateError } from "../core/errors.ts";
import type { Pipeline } from "../ingest/spec/define-pipeline.ts";
import { systemClock } from "../platform/system-clock.ts";
import { createJsonLog } from "../telemetry/json-log.ts";
import type { RunSettings } from "./config.ts";
import { openAwsRenewer } from "./leases/open-renewer.ts";
import { type AwsEnvironmentOptions, openAwsEnvironment } from "./open/aws-environment.ts";
import { findServer } from "./open/find-server.ts";
import { lateQueueOf } from "./open/late-queue.ts";
import { waitForQueue } from "./open/wait-for-queue.ts";
import { ensureLedgerFolder, prepareRun } from "./prepare-run.ts";
import {
  type PipelineHost,
  type RunningPipeline,
  runPipeline,
  type StartOptions,
} from "./run-pipeline.ts";

/** Runs a pipeline on AWS, or on any endpoint that is compatible with SQS and S3. */
export function startPipeline(
  pipeline: Pipeline,
  settings: RunSettings = {},
  options: StartOptions = {},
): Promise<RunningPipeline> {
  return startOnAws(pipeline, settings, options);
}

/** The same, for callers inside the package that decide what is prefetched. */
export async function startOnAws(
  pipeline: Pipeline,
  settings: RunSettings,
  options: StartOptions,
  host: Pick<PipelineHost, "prefetch"> = {},
): Promise<RunningPipeline> {
  const run = prepareRun("run", pipeline, settings);
  const queue = run.settings.queue ?? run.pipeline.source.queue;
  if (queue === null) {
    const message =
      "the pipeline has no queue to consume; name a queue, or set source.queue in its file";
    throw new TidegateError("TG_CONFIG_INVALID", message);
  }
  ensureLedgerFolder(run.settings.ledger);
  const { deadLetterQueue } = run.settings;
  const { onLogLine, signal } = options;
  const fields = { pipeline: pipeline.name };
  const log = createJsonLog(systemClock, {
    level: run.settings.logLevel,
    to: onLogLine ?? 2,
    fields,
  });
  const ports = { clock: systemClock, log };
  const lateQueue = lateQueueOf(run.pipeline);
  const open = async () => {
    const server = await findServer(run.settings);
    return openAnswering({ queue, deadLetterQueue, lateQueue, server });
  };
  const environment = await waitForQueue(ports, open, { queue, signal }); // P1
  const openRenewer = openAwsRenewer.bind(null, environment);
  const { server } = environment;
  return runPipeline(run, { environment, openRenewer, server, ...host }, options);
}

/** Opens a queue by URL, too, only if it answers. */
async function openAnswering(options: AwsEnvironmentOptions) {
  const environment = await openAwsEnvironment(options);
  try {
    await environment.queue.facts();
    return { ...environment, server: options.server };
  } catch (error) {
    await environment.close();
    throw error;
  }
}
