// What `tidegate/run` exports: names only.

export { TidegateError } from "../core/errors.ts";
export type { ConsumerSnapshot } from "../ingest/running/consumer.ts";
export type { RunSettings } from "./config.ts";
export type { Feed, FeedFile } from "./dev/feed.ts";
export { type DevOptions, type RunningDev, startDev } from "./dev/start-dev.ts";
export { loadPipeline } from "./open/load-pipeline.ts";
export type { RunningPipeline, StartOptions } from "./run-pipeline.ts";
export { startPipeline } from "./start-pipeline.ts";
