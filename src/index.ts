// `tidegate`: what a pipeline file imports. Names only.

export type { JsonObject, JsonValue } from "./core/encoding/canonical-json.ts";
export { TidegateError } from "./core/errors.ts";
export { type Pipeline, pipeline, sql, tables } from "./ingest/spec/define-pipeline.ts";
export type {
  EnvelopeEventFacts,
  EventTimeValue,
  LatePolicy,
  MessageFacts,
  ObjectEventFacts,
} from "./ingest/spec/event-facts.ts";
export type { GovernAnswer, GovernedRow } from "./ingest/spec/govern.ts";
export { GovernanceError, PermanentError, RetryLater } from "./ingest/spec/handler-errors.ts";
export type { OwnMessageInput, OwnSource } from "./ingest/spec/own-source.ts";
export type {
  HandlerContext,
  MessageInput,
  ObjectInput,
  OnRemoved,
  OwnPipelineSpec,
  PipelineSpec,
  RemovedInput,
} from "./ingest/spec/pipeline-spec.ts";
