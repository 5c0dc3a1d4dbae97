// Start pipeline: `tidegate run` as a function.

import { TidegateError } from "../core/errors.ts";
import type { Pipeline } from "../ingest/spec/define-pipeline.ts";
import type { RunSettings } from "./config.ts";
import { openAwsRenewer } from "./leases/open-renewer.ts";
import { openAwsEnvironment } from "./open/aws-environment.ts";
import { ensureLedgerFolder, prepareRun } from "./prepare-run.ts";
import { type RunningPipeline, runPipeline, type StartOptions } from "./run-pipeline.ts";

/** Runs a pipeline on AWS, or on any endpoint that is compatible with SQS and S3. */
export async function startPipeline(
  pipeline: Pipeline,
  settings: RunSettings = {},
  options: StartOptions = {},
): Promise<RunningPipeline> {
  const run = prepareRun("run", pipeline, settings);
  const queue = run.settings.queue ?? run.pipeline.source.queue;
  if (queue === null) {
    const message =
      "the pipeline has no queue to consume; set --queue, or source.queue in its file";
    throw new TidegateError("TG_CONFIG_INVALID", message);
  }
  ensureLedgerFolder(run.settings.ledger);
  const { deadLetterQueue, endpoint, region } = run.settings;
  const environment = await openAwsEnvironment({ queue, deadLetterQueue, endpoint, region });
  const open = openAwsRenewer.bind(null, environment);
  return runPipeline(run, { environment, openRenewer: open }, options);
}
