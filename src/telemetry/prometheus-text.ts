// Prometheus text: the registry as /metrics shows it, in the text format 0.0.4.
//   P1. Names keep to Prometheus's rules: dots become underscores, a unit that the name does not
//       tell is added, and counters end in _total.
//   P2. Every metric is shown, also one that has no numbers yet, so that a dashboard can be built
//       before the first failure.
//   P3. A label without a value is left out, which to Prometheus means the same.
//   P4. A gauge whose name ends as a histogram's parts do is shown without a type: Prometheus reads
//       it all the same, and its checker refuses the combination.

import type { MetricDefinition } from "../ports/telemetry.ts";
import type { MetricFamily, Series } from "./metric-registry.ts";

/** The content type of `formatMetrics`. */
export const METRICS_CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8";

export function formatMetrics(families: readonly MetricFamily[]): string {
  return families.map(formatFamily).join("");
}

/** The name of a metric on /metrics (P1). */
export function prometheusName({ name, kind, unit }: MetricDefinition): string {
  let told = name.replace(/[^a-zA-Z0-9_]+/g, "_");
  if (unit !== undefined && !told.endsWith(`_${unit}`)) told += `_${unit}`;
  return kind === "counter" && !told.endsWith("_total") ? `${told}_total` : told;
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

function typeOf({ kind }: MetricDefinition, name: string): string {
  return kind === "gauge" && /_(count|sum|bucket|total)$/.test(name) ? "untyped" : kind; // P4
}

/** The registry keeps each bucket for itself; here each holds those below it, too. */
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

function labelsOf({ labels }: MetricDefinition, { labelValues }: Series): string[] {
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
