// Prometheus text: renders the registry for /metrics, in the text format 0.0.4.
//   P1. Names follow Prometheus's rules: dots become underscores, a unit that the name lacks is
//       added, and counters end in _total.
//   P2. Every metric is rendered, even without values, so that a dashboard can be built before the
//       first failure.
//   P3. A label with an empty value is omitted, which means the same to Prometheus.
//   P4. A gauge whose name ends like a part of a histogram has no type: Prometheus reads it anyway,
//       and its checker rejects the combination.

import type { MetricDefinition } from "../ports/telemetry.ts";
import type { MetricFamily, Series } from "./metric-registry.ts";

/** The Content-Type of a response with `metricsText()`. */
export const METRICS_CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8";

export function formatMetrics(families: readonly MetricFamily[]): string {
  return families.map(formatFamily).join("");
}

/** The name of a metric on /metrics (P1). */
export function prometheusName({ name, kind, unit }: MetricDefinition): string {
  let text = name.replace(/[^a-zA-Z0-9_]+/g, "_");
  if (unit !== undefined && !text.endsWith(`_${unit}`)) text += `_${unit}`;
  return kind === "counter" && !text.endsWith("_total") ? `${text}_total` : text;
}

function formatFamily({ definition, series }: MetricFamily): string {
  const name = prometheusName(definition);
  const help = definition.help.toWellFormed().replace(/\\/g, "\\\\").replace(/\n/g, "\\n");
  let text = `# HELP ${name} ${help}\n# TYPE ${name} ${typeOf(definition, name)}\n`; // P2
  for (const each of series) {
    text +=
      definition.kind === "histogram"
        ? formatHistogram(name, definition, each)
        : sample(name, labelsOf(definition, each), each.value);
  }
  return text;
}

/** The type of a metric in the text (P4). */
export function typeOf({ kind }: MetricDefinition, name: string): string {
  return kind === "gauge" && /_(count|sum|bucket|total)$/.test(name) ? "untyped" : kind; // P4
}

/** The registry counts each bucket separately; Prometheus expects cumulative buckets. */
function formatHistogram(name: string, definition: MetricDefinition, series: Series): string {
  const labels = labelsOf(definition, series);
  const bounds = [...series.bounds, Number.POSITIVE_INFINITY];
  let text = "";
  let count = 0;
  for (const [at, bound] of bounds.entries()) {
    count += series.buckets[at] ?? 0;
    text += sample(`${name}_bucket`, [...labels, `le="${formatNumber(bound)}"`], count);
  }
  return (
    text + sample(`${name}_sum`, labels, series.value) + sample(`${name}_count`, labels, count)
  );
}

/** The labels of a series, each as `name="value"` (P3). */
export function labelsOf({ labels }: MetricDefinition, { labelValues }: Series): string[] {
  return labels.flatMap((label, at) => {
    const value = labelValues[at] ?? "";
    return value === "" ? [] : [`${label}="${escapeLabel(value)}"`]; // P3
  });
}

function escapeLabel(value: string): string {
  return value.toWellFormed().replace(/\\/g, "\\\\").replace(/"/g, '\\"').replace(/\n/g, "\\n");
}

function sample(name: string, labels: readonly string[], value: number): string {
  const braces = labels.length === 0 ? "" : `{${labels.join(",")}}`;
  return `${name}${braces} ${formatNumber(value)}\n`;
}

function formatNumber(value: number): string {
  return value === Number.POSITIVE_INFINITY ? "+Inf" : String(value);
}
