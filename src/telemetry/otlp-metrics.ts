// OTLP metrics: the values of a registry in the form that OpenTelemetry's exporter sends.
//   M1. The same numbers as on /metrics, with the names of the table: dots stay dots, and labels of
//       the messaging conventions have their names there, such as messaging.system.
//   M2. Totals are cumulative since the start of the process. A metric without values is omitted.

import type { HrTime } from "@opentelemetry/api";
import type { DataPoint, MetricData } from "@opentelemetry/sdk-metrics";
import type { EpochMs } from "../core/units.ts";
import type { MetricDefinition } from "../ports/telemetry.ts";
import type { MetricFamily, Series } from "./metric-registry.ts";

/** The enumerations of the SDK that metric data contains. */
export interface MetricKinds {
  readonly DataPointType: typeof import("@opentelemetry/sdk-metrics").DataPointType;
  readonly AggregationTemporality: typeof import("@opentelemetry/sdk-metrics").AggregationTemporality;
}

export interface MetricSpan {
  readonly startedAt: EpochMs;
  readonly now: EpochMs;
}

/** ValueType.DOUBLE of @opentelemetry/api. */
const DOUBLE = 1;

export function otlpMetrics(
  families: readonly MetricFamily[],
  span: MetricSpan,
  kinds: MetricKinds,
): MetricData[] {
  const filled = families.filter(({ series }) => series.length > 0); // M2
  return filled.map(({ definition, series }) => metricOf(definition, series, span, kinds));
}

function metricOf(
  definition: MetricDefinition,
  series: readonly Series[],
  span: MetricSpan,
  { DataPointType, AggregationTemporality }: MetricKinds,
): MetricData {
  const { name, help: description, kind, unit } = definition;
  const descriptor = {
    name,
    description,
    unit: unit === "seconds" || name.endsWith("_seconds") ? "s" : "",
    valueType: DOUBLE,
  };
  const aggregationTemporality = AggregationTemporality.CUMULATIVE;
  const common = { descriptor, aggregationTemporality };
  const points = <T>(read: (each: Series) => T) =>
    series.map((each) => pointOf(definition, each, span, read(each)));
  switch (kind) {
    case "counter":
      return {
        ...common,
        dataPointType: DataPointType.SUM,
        isMonotonic: true,
        dataPoints: points(({ value }) => value),
      };
    case "gauge":
      return {
        ...common,
        dataPointType: DataPointType.GAUGE,
        dataPoints: points(({ value }) => value),
      };
    case "histogram":
      return { ...common, dataPointType: DataPointType.HISTOGRAM, dataPoints: points(histogramOf) };
  }
}

function histogramOf({ value: sum, bounds, buckets }: Series) {
  const counts = [...buckets];
  const count = counts.reduce((total, each) => total + each, 0);
  return { buckets: { boundaries: [...bounds], counts }, sum, count };
}

function pointOf<T>(
  { labels }: MetricDefinition,
  { labelValues }: Series,
  { startedAt, now }: MetricSpan,
  value: T,
): DataPoint<T> {
  const named = labels.flatMap((label, at) => {
    const text = labelValues[at] ?? "";
    return text === "" ? [] : [[attributeName(label), text]];
  });
  const attributes: Record<string, string> = Object.fromEntries(named);
  return { startTime: timeOf(startedAt), endTime: timeOf(now), attributes, value };
}

/** M1 */
function attributeName(label: string): string {
  const conventional = label.startsWith("messaging_") || label === "error_type";
  return conventional ? label.replaceAll("_", ".") : label;
}

function timeOf(at: EpochMs): HrTime {
  return [Math.floor(at / 1_000), (at % 1_000) * 1_000_000];
}
