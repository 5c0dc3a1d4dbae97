// `tidegate/telemetry`: metrics, logs and spans of one process.

import { printError } from "../platform/print-error.ts";
import {
  type MetricsAddress,
  type MetricsListener,
  startMetricsListener,
} from "../run/metrics-listener.ts";
import * as telemetry from "../telemetry/create-telemetry.ts";
import * as otlp from "../telemetry/otlp-export.ts";
import { type SystemPorts, withSystemDefaults } from "./system-defaults.ts";

export type { Labels, MetricDefinition, MetricTable, Telemetry } from "../ports/telemetry.ts";
export type { MetricsAddress, MetricsListener } from "../run/metrics-listener.ts";
export type { MetricsPage, ProcessTelemetry } from "../telemetry/create-telemetry.ts";
export type { LogOptions } from "../telemetry/json-log.ts";
export type { MetricSource, OtlpExport } from "../telemetry/otlp-export.ts";
export { METRICS_CONTENT_TYPE } from "../telemetry/prometheus-text.ts";
export { loadTracing, type Tracing } from "../telemetry/tracing.ts";

/** Options of `createTelemetry`; the clock has a default. */
export type TelemetryOptions = Omit<telemetry.TelemetryOptions, "clock"> &
  Pick<SystemPorts, "clock">;

/** Collects metrics for `/metrics`, writes logs as JSON lines, and records spans. */
export function createTelemetry(options: TelemetryOptions): telemetry.ProcessTelemetry {
  return telemetry.createTelemetry(withSystemDefaults(options));
}

/** Options of `openOtlpExport`; all but the name of the service have defaults. */
export interface OtlpExportOptions {
  /** Names the service if OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES do not. */
  readonly serviceName: string;
  readonly version?: string;
  /** Receives sentences about values that are not followed. Default: stderr. */
  readonly onProblem?: (sentence: string) => void;
}

/**
 * Starts the export of spans and metrics by the standard `OTEL_*` variables; null if none of them
 * asks for it. Pass it to `createTelemetry`, and close it when the process ends.
 */
export function openOtlpExport(options: OtlpExportOptions): Promise<otlp.OtlpExport | null> {
  const { serviceName, version, onProblem = printError } = options;
  const { clock } = withSystemDefaults({});
  return otlp.openOtlpExport({ clock, serviceName, version, onProblem });
}

/** Serves `/metrics` and `/health` of a process, on loopback unless `host` says otherwise. */
export function serveMetrics(
  telemetry: Pick<telemetry.ProcessTelemetry, "metricsPage">,
  address: MetricsAddress,
): Promise<MetricsListener> {
  const metrics = telemetry.metricsPage;
  const health = () => ({ ok: true, facts: {} });
  return startMetricsListener({ metrics, health, onError: printError }, address);
}
