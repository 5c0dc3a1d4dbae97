// What `tidegate/run` exports: names only.

export { TidegateError } from "../core/errors.ts";
export type { ConsumerSnapshot } from "../ingest/consumer.ts";
export type { RunSettings } from "./config.ts";
export type { Feed, FeedFile } from "./feed.ts";
export { loadPipeline } from "./load-pipeline.ts";
export type { RunningPipeline, StartOptions } from "./run-on-site.ts";
export { type DevOptions, type RunningDev, startDev } from "./start-dev.ts";
export { startPipeline } from "./start-pipeline.ts";
