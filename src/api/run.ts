// `tidegate/run`: pipelines on AWS, on any endpoint, or on the embedded cloud.

import { consoleOf } from "../console/mount-console.ts";
import type { ConsoleAccess } from "../console/serve-console.ts";
import type { Pipeline } from "../ingest/spec/define-pipeline.ts";
import type { RunSettings } from "../run/config.ts";
import * as dev from "../run/dev/start-dev.ts";

export { TidegateError } from "../core/errors.ts";
export type { ConsumerSnapshot } from "../ingest/running/consumer.ts";
export type { RunSettings } from "../run/config.ts";
export type { Feed, FeedFile } from "../run/dev/feed.ts";
export type { RunningDev } from "../run/dev/start-dev.ts";
export { loadPipeline } from "../run/open/load-pipeline.ts";
export type { RunningPipeline, StartOptions } from "../run/run-pipeline.ts";
export { startPipeline } from "../run/start-pipeline.ts";

/** Options of `startDev`. */
export interface DevOptions extends Omit<dev.DevOptions, "console"> {
  /** How the console at /_tidegate/console is served. Default: read-only, without a token. */
  readonly console?: ConsoleAccess;
}

/** Starts an embedded cloud, creates what the pipeline needs in it, and runs the pipeline. */
export function startDev(
  pipeline: Pipeline,
  settings: RunSettings = {},
  options: DevOptions = {},
): Promise<dev.RunningDev> {
  return dev.startDev(pipeline, settings, { ...options, console: consoleOf(options.console) });
}
