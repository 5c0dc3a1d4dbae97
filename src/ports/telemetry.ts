// Telemetry: metrics, logs and traces, through one interface.
//   T1. Nothing here fails, waits or throws: a failing exporter never reaches the caller.
//   T2. Names of metrics and their labels are tables (produce/metrics.ts,
//       ingest/telemetry/metrics.ts).
//   T3. The caller masks secrets before it passes values; nothing here knows what is secret.

import type { TraceContext } from "../core/events/trace-context.ts";
import type { EpochMs } from "../core/units.ts";

/** Label names and values of one measurement. */
export type Labels = Readonly<Record<string, string>>;

/** Fields to search log lines by. Null and undefined fields are omitted. */
export interface LogFields {
  readonly message_id?: string | null | undefined;
  readonly object_key?: string | null | undefined;
  readonly run_id?: string | null | undefined;
  readonly idempotency_key?: string | null | undefined;
  readonly trace_id?: string | null | undefined;
  readonly [name: string]: string | number | boolean | null | undefined;
}

export type LogLevel = "debug" | "info" | "warn" | "error";

/** One metric, as a table declares it (T2). */
export interface MetricDefinition {
  /** With dots in code; /metrics shows underscores. */
  readonly name: string;
  readonly kind: "counter" | "histogram" | "gauge";
  /** One sentence for readers of /metrics. */
  readonly help: string;
  /** Every recorded value has exactly these labels. */
  readonly labels: readonly string[];
  /** Ascending upper bounds, without the implicit last one, infinity. Histograms only. */
  readonly buckets?: readonly number[];
  /** Set if the name does not contain the unit. */
  readonly unit?: "seconds";
}

/** Metrics by a name for the code. A telemetry collects only metrics that a table declares. */
export type MetricTable = Readonly<Record<string, MetricDefinition>>;

export interface SpanOptions {
  readonly kind: "producer" | "consumer" | "client" | "internal";
  /** The parent context; null starts a new trace. */
  readonly parent?: TraceContext | null;
  readonly links?: readonly { readonly context: TraceContext; readonly attributes?: Labels }[];
  readonly attributes?: Readonly<Record<string, string | number>>;
  /** Default: now. */
  readonly startedAt?: EpochMs;
}

export interface SpanEnd {
  /** Set if the work of the span failed. */
  readonly errorType?: string;
  readonly attributes?: Readonly<Record<string, string | number>>;
}

export interface Span {
  /** Null without tracing. */
  readonly context: TraceContext | null;
  /** Links another span, for a context that is known only after the start. */
  link(context: TraceContext, attributes?: Labels): void;
  end(outcome?: SpanEnd): void;
}

/** Receives what a part reports. No method throws or waits. */
export interface Telemetry {
  /** Adds to a counter. */
  count(name: string, by?: number, labels?: Labels): void;
  /** Adds one value to a distribution; `trace` names a span that the value belongs to. */
  record(name: string, value: number, labels?: Labels, trace?: TraceContext | null): void;
  /** Sets a level. */
  gauge(name: string, value: number, labels?: Labels): void;
  log(level: LogLevel, message: string, fields?: LogFields): void;
  span(name: string, options: SpanOptions): Span;
}
