// Start pipeline: what `tidegate run` does, for whoever would rather call it.

import { dirname, join } from "node:path";
import { TidegateError } from "../core/errors.ts";
import type { Pipeline } from "../ingest/spec/define-pipeline.ts";
import { type FilledSettings, fillSettings, type RunSettings } from "./config.ts";
import { openAwsEnvironment } from "./open/aws-environment.ts";
import { ensureFolder } from "./open/ensure-folder.ts";
import { parseLedgerUrl } from "./open/open-ledger.ts";
import { type RunningPipeline, runPipeline, type StartOptions } from "./run-pipeline.ts";

/** Runs a pipeline on Amazon, or on any endpoint that speaks SQS and S3, until it is drained. */
export async function startPipeline(
  pipeline: Pipeline,
  settings: RunSettings = {},
  options: StartOptions = {},
): Promise<RunningPipeline> {
  const filled = fillSettings("run", settings);
  const ledger = ledgerUrl(filled);
  const running = withTablesAt(withGeneration(pipeline, filled), filled);
  return runPipeline(
    running,
    await openAwsEnvironment(running, filled),
    { ...filled, ledger },
    options,
  );
}

/** The ledger's URL; a file gets the folder it lies in. */
export function ledgerUrl({ ledger, data }: FilledSettings): string {
  const url = ledger ?? `sqlite:${join(data, "ledger.db")}`;
  const place = parseLedgerUrl(url);
  if (place.store === "sqlite") ensureFolder("the ledger's", dirname(place.path));
  return url;
}

/** The pipeline in the generation that whoever runs it has chosen. */
export function withGeneration(pipeline: Pipeline, { generation }: RunSettings): Pipeline {
  return generation === undefined ? pipeline : { ...pipeline, generation };
}

/** The pipeline with its tables where whoever runs it has them. */
function withTablesAt(pipeline: Pipeline, { tablesDatabase: database }: RunSettings): Pipeline {
  const { sink } = pipeline;
  if (database === undefined) return pipeline;
  if (sink === null || typeof sink === "function") {
    const message = "--tables-database is given, but the pipeline has no tables() as its sink";
    throw new TidegateError("TG_CONFIG_INVALID", message);
  }
  return { ...pipeline, sink: { ...sink, database } };
}
