// `tidegate/run`: pipelines on AWS, on any endpoint, or on the embedded cloud.

export { TidegateError } from "../core/errors.ts";
export type { ConsumerSnapshot } from "../ingest/running/consumer.ts";
export type { RunSettings } from "../run/config.ts";
export type { Feed, FeedFile } from "../run/dev/feed.ts";
export { type DevOptions, type RunningDev, startDev } from "../run/dev/start-dev.ts";
export { loadPipeline } from "../run/open/load-pipeline.ts";
export type { RunningPipeline, StartOptions } from "../run/run-pipeline.ts";
export { startPipeline } from "../run/start-pipeline.ts";
