// `tidegate/telemetry`: metrics, logs and spans of one process.

import * as telemetry from "../telemetry/create-telemetry.ts";
import { type SystemPorts, withSystemDefaults } from "./system-defaults.ts";

export type { Labels, MetricDefinition, MetricTable, Telemetry } from "../ports/telemetry.ts";
export type { ProcessTelemetry } from "../telemetry/create-telemetry.ts";
export type { LogOptions } from "../telemetry/json-log.ts";
export { METRICS_CONTENT_TYPE } from "../telemetry/prometheus-text.ts";
export { loadTracing, type Tracing } from "../telemetry/tracing.ts";

/** Options of `createTelemetry`; the clock has a default. */
export type TelemetryOptions = Omit<telemetry.TelemetryOptions, "clock"> &
  Pick<SystemPorts, "clock">;

/** Collects metrics for `/metrics`, writes logs as JSON lines, and records spans. */
export function createTelemetry(options: TelemetryOptions): telemetry.ProcessTelemetry {
  return telemetry.createTelemetry(withSystemDefaults(options));
}
