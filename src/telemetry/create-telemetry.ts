// Telemetry of one process: numbers in memory for /metrics, lines as JSON, spans as they are asked.
//   T1. As the port says: nothing here fails, waits or throws in production. A number that no table
//       declares is dropped, and said once; tests have it throw instead.

import { assert } from "../core/assert.ts";
import type { Clock } from "../ports/clock.ts";
import type { MetricTable, Telemetry } from "../ports/telemetry.ts";
import { createJsonLog, type LogOptions } from "./json-log.ts";
import { createMetricRegistry } from "./metric-registry.ts";
import { formatMetrics } from "./prometheus-text.ts";
import { PASSING_ON, type Tracing } from "./tracing.ts";

export interface TelemetryOptions {
  /** All that may be counted: CONSUMER_METRICS, PRODUCER_METRICS. */
  readonly metrics: readonly MetricTable[];
  readonly clock: Clock;
  /** Null writes nothing. */
  readonly logs?: LogOptions | null;
  /** Made by `loadTracing`; without it contexts are handed on and nothing is recorded. */
  readonly tracing?: Tracing;
  /** What becomes of numbers that no table declares: "warn" unless said, "assert" in tests. */
  readonly onMisuse?: "warn" | "assert";
}

export interface ProcessTelemetry extends Telemetry {
  /** All metrics, as /metrics answers with (METRICS_CONTENT_TYPE). */
  metricsText(): string;
  /** Has `refresh` set its gauges before each answer; returns what ends that. */
  beforeScrape(refresh: () => void): () => void;
}

/** Different warnings that are remembered, so as to be given once. */
const WARNINGS_MAX = 100;

export function createTelemetry(options: TelemetryOptions): ProcessTelemetry {
  const { metrics, clock, logs = {}, tracing = PASSING_ON, onMisuse = "warn" } = options;
  const log = logs === null ? () => {} : createJsonLog(clock, logs);
  const warned = new Set<string>();
  const misuse = (message: string): void => {
    assert(onMisuse === "warn", message);
    if (warned.has(message) || warned.size >= WARNINGS_MAX) return;
    warned.add(message);
    log("warn", `a number was dropped: ${message}`); // T1
  };
  const registry = createMetricRegistry(metrics, misuse);
  const refreshers = new Set<() => void>();

  return {
    count: (name, by = 1, labels) => registry.count(name, by, labels),
    record: registry.record,
    gauge: registry.gauge,
    log,
    span: tracing.span,
    metricsText() {
      for (const refresh of refreshers) {
        try {
          refresh();
        } catch (error) {
          misuse(`a gauge could not be read: ${error instanceof Error ? error.message : error}`);
        }
      }
      return formatMetrics(registry.families());
    },
    beforeScrape(refresh) {
      refreshers.add(refresh);
      return () => refreshers.delete(refresh);
    },
  };
}
