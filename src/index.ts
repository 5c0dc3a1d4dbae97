// What `tidegate` exports: names only.

export { TidegateError } from "./core/errors.ts";
export { type Pipeline, pipeline, tables } from "./ingest/define-pipeline.ts";
export { PermanentError, RetryLater } from "./ingest/handler-errors.ts";
export type {
  HandlerContext,
  MessageArrival,
  ObjectArrival,
  PipelineSpec,
} from "./ingest/pipeline-spec.ts";
