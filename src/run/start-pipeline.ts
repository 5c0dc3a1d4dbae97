// Start pipeline: what `tidegate run` does, for whoever would rather call it.

import { mkdirSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Pipeline } from "../ingest/define-pipeline.ts";
import { openAwsSite } from "./aws-site.ts";
import { type FilledSettings, fillSettings, type RunSettings } from "./config.ts";
import { parseLedgerUrl } from "./open-ledger.ts";
import { type RunningPipeline, runOnSite, type StartOptions } from "./run-on-site.ts";

/** Runs a pipeline on Amazon, or on any endpoint that speaks SQS and S3, until it is drained. */
export async function startPipeline(
  pipeline: Pipeline,
  settings: RunSettings = {},
  options: StartOptions = {},
): Promise<RunningPipeline> {
  const filled = fillSettings("run", settings);
  const ledger = ledgerUrl(filled);
  const running = withGeneration(pipeline, filled);
  return runOnSite(running, await openAwsSite(running, filled), { ...filled, ledger }, options);
}

/** The ledger's URL; a file gets the folder it lies in. */
export function ledgerUrl({ ledger, data }: FilledSettings): string {
  const url = ledger ?? `sqlite:${join(data, "ledger.db")}`;
  const place = parseLedgerUrl(url);
  if (place.store === "sqlite") mkdirSync(dirname(place.path), { recursive: true });
  return url;
}

/** The pipeline in the generation that whoever runs it has chosen. */
export function withGeneration(pipeline: Pipeline, { generation }: RunSettings): Pipeline {
  return generation === undefined ? pipeline : { ...pipeline, generation };
}
