// Telemetry: numbers, lines and spans about what happens, through one seam.
//   T1. Nothing here fails, waits or throws: a failing exporter never reaches the caller.
//   T2. Names of metrics and their labels are tables (produce/metrics.ts, ingest/telemetry/metrics.ts).
//   T3. What goes through has been masked by the caller; nothing here knows what is secret.

import type { TraceContext } from "../core/events/trace-context.ts";

export type Labels = Readonly<Record<string, string>>;

/** What a log line is found by. Null or absent parts are left out of the line. */
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
  /** Dots are for the code; /metrics spells them as underscores. */
  readonly name: string;
  readonly kind: "counter" | "histogram" | "gauge";
  /** One sentence for whoever reads /metrics. */
  readonly help: string;
  /** Every value that is counted comes with exactly these. */
  readonly labels: readonly string[];
  /** Upper bounds, ascending, without the last, which is infinity. Histograms only. */
  readonly buckets?: readonly number[];
  /** Where the name does not tell it and /metrics must. */
  readonly unit?: "seconds";
}

export type MetricTable = Readonly<Record<string, MetricDefinition>>;

export interface SpanOptions {
  readonly kind: "producer" | "consumer" | "client" | "internal";
  /** The context it goes on from; null begins a trace. */
  readonly parent?: TraceContext | null;
  readonly links?: readonly { readonly context: TraceContext; readonly attributes?: Labels }[];
  readonly attributes?: Readonly<Record<string, string | number>>;
}

export interface Span {
  /** Null where nobody traces. */
  readonly context: TraceContext | null;
  end(outcome?: { readonly errorType?: string }): void;
}

export interface Telemetry {
  /** Adds to a counter. */
  count(name: string, by?: number, labels?: Labels): void;
  /** Adds one value to a distribution. */
  record(name: string, value: number, labels?: Labels): void;
  /** Sets a level. */
  gauge(name: string, value: number, labels?: Labels): void;
  log(level: LogLevel, message: string, fields?: LogFields): void;
  span(name: string, options: SpanOptions): Span;
}
