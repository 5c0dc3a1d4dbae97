// Telemetry of one process: metrics in memory for /metrics, logs as JSON lines, spans on request.
//   T1. As the port requires: nothing here fails, waits or throws in production. A metric that no
//       table declares is dropped, and reported once; tests make it throw instead.

import { assert } from "../core/assert.ts";
import type { Clock } from "../ports/clock.ts";
import type { MetricTable, Telemetry } from "../ports/telemetry.ts";
import { EXPORT_METRICS } from "./export-metrics.ts";
import { createJsonLog, type LogOptions } from "./json-log.ts";
import { createMetricRegistry } from "./metric-registry.ts";
import {
  formatOpenMetrics,
  OPENMETRICS_CONTENT_TYPE,
  prefersOpenMetrics,
} from "./openmetrics-text.ts";
import type { OtlpExport } from "./otlp-export.ts";
import { formatMetrics, METRICS_CONTENT_TYPE } from "./prometheus-text.ts";
import { PASSING_ON, type Tracing } from "./tracing.ts";

export interface TelemetryOptions {
  /** Tables of the metrics to collect, such as PRODUCER_METRICS. */
  readonly metrics: readonly MetricTable[];
  readonly clock: Clock;
  /** Null writes no logs. */
  readonly logs?: LogOptions | null;
  /** Made by `loadTracing`. Default: contexts are passed on and nothing is recorded. */
  readonly tracing?: Tracing;
  /** Made by `openOtlpExport`: exports the metrics, and the spans unless `tracing` is set. */
  readonly otlp?: OtlpExport | null;
  /** Attributes of these metrics in the export, such as the pipeline. */
  readonly scope?: Readonly<Record<string, string>>;
  /** What happens to metrics that no table declares. Default: "warn"; "assert" is for tests. */
  readonly onMisuse?: "warn" | "assert";
}

/** An answer to a scrape. */
export interface MetricsPage {
  readonly text: string;
  /** The Content-Type. */
  readonly type: string;
}

/** The telemetry of one process, with its page for Prometheus. */
export interface ProcessTelemetry extends Telemetry {
  /** All metrics as text for /metrics, of the type METRICS_CONTENT_TYPE. */
  metricsText(): string;
  /** The same in the format that the Accept header of a request asks for, with its type. */
  metricsPage(accept: string | undefined): MetricsPage;
  /** Calls `refresh` before each scrape, to set gauges; returns a function that stops it. */
  beforeScrape(refresh: () => void): () => void;
}

/** Distinct warnings that are remembered, so that each is logged once. */
const WARNINGS_MAX = 100;

export function createTelemetry(options: TelemetryOptions): ProcessTelemetry {
  const { clock, logs = {}, otlp = null, scope = {}, onMisuse = "warn" } = options;
  const { tracing = otlp?.tracing ?? PASSING_ON } = options;
  const metrics = otlp === null ? options.metrics : [...options.metrics, EXPORT_METRICS];
  const log = logs === null ? () => {} : createJsonLog(clock, logs);
  const warned = new Set<string>();
  const misuse = (message: string): void => {
    assert(onMisuse === "warn", message);
    if (warned.has(message) || warned.size >= WARNINGS_MAX) return;
    warned.add(message);
    log("warn", `metric dropped: ${message}`); // T1
  };
  const registry = createMetricRegistry(metrics, misuse, () => clock.now());
  const refreshers = new Set<() => void>();
  const families = () => {
    for (const refresh of refreshers) {
      try {
        refresh();
      } catch (error) {
        misuse(`cannot read a gauge: ${error instanceof Error ? error.message : error}`);
      }
    }
    return registry.families();
  };
  otlp?.collect({
    scope,
    families,
    onLost: (signal, count) => registry.count(EXPORT_METRICS.lost.name, count, { signal }),
  });

  return {
    count: (name, by = 1, labels) => registry.count(name, by, labels),
    record: registry.record,
    gauge: registry.gauge,
    log,
    span: tracing.span,
    metricsText: () => formatMetrics(families()),
    metricsPage(accept) {
      if (!prefersOpenMetrics(accept)) {
        return { text: formatMetrics(families()), type: METRICS_CONTENT_TYPE };
      }
      return { text: formatOpenMetrics(families()), type: OPENMETRICS_CONTENT_TYPE };
    },
    beforeScrape(refresh) {
      refreshers.add(refresh);
      return () => refreshers.delete(refresh);
    },
  };
}
