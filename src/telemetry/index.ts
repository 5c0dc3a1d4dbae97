// What `tidegate/telemetry` exports: names only.

export type { Labels, MetricDefinition, MetricTable, Telemetry } from "../ports/telemetry.ts";
export {
  createTelemetry,
  type ProcessTelemetry,
  type TelemetryOptions,
} from "./create-telemetry.ts";
export type { LogOptions } from "./json-log.ts";
export { METRICS_CONTENT_TYPE } from "./prometheus-text.ts";
export { loadTracing, type Tracing } from "./tracing.ts";
