// `tidegate`: what a pipeline file imports. Names only.

export type { JsonObject, JsonValue } from "./core/encoding/canonical-json.ts";
export { TidegateError } from "./core/errors.ts";
export { type Pipeline, pipeline, tables } from "./ingest/spec/define-pipeline.ts";
export { PermanentError, RetryLater } from "./ingest/spec/handler-errors.ts";
export type {
  HandlerContext,
  MessageInput,
  ObjectInput,
  PipelineSpec,
} from "./ingest/spec/pipeline-spec.ts";
