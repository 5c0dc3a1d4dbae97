// OpenMetrics text: renders the registry in the format 1.0.0, which has exemplars.
//   O1. A counter's family has no _total; its samples do. A gauge whose name ends like a part of a
//       histogram has the type unknown (P4 of prometheus-text.ts).
//   O2. A bucket shows the newest value that fell into it and belongs to a sampled trace, so that a
//       slow bucket leads to a slow trace.
//   O3. The text ends with # EOF; a truncated answer is recognised.

import type { MetricDefinition } from "../ports/telemetry.ts";
import type { Exemplar, MetricFamily, Series } from "./metric-registry.ts";
import { labelsOf, prometheusName, typeOf } from "./prometheus-text.ts";

/** The Content-Type of this format. */
export const OPENMETRICS_CONTENT_TYPE =
  "application/openmetrics-text; version=1.0.0; charset=utf-8";

export function formatOpenMetrics(families: readonly MetricFamily[]): string {
  return `${families.map(openFamily).join("")}# EOF\n`; // O3
}

/** Whether an Accept header asks for this format. */
export function prefersOpenMetrics(accept: string | undefined): boolean {
  return /\bapplication\/openmetrics-text\b(?!\s*;[^,]*q=0(?:\.0*)?(?:,|$))/i.test(accept ?? "");
}

function openFamily({ definition, series }: MetricFamily): string {
  const full = prometheusName(definition);
  const name = definition.kind === "counter" ? full.replace(/_total$/, "") : full; // O1
  const help = definition.help.toWellFormed().replace(/[\\"\n]/g, (text) => ESCAPED[text] ?? text);
  const type = typeOf(definition, full);
  let text = `# TYPE ${name} ${type === "untyped" ? "unknown" : type}\n# HELP ${name} ${help}\n`;
  for (const each of series) {
    text +=
      definition.kind === "histogram"
        ? openHistogram(name, definition, each)
        : line(full, labelsOf(definition, each), each.value);
  }
  return text;
}

const ESCAPED: Readonly<Record<string, string>> = { "\\": "\\\\", '"': '\\"', "\n": "\\n" };

function openHistogram(name: string, definition: MetricDefinition, series: Series): string {
  const labels = labelsOf(definition, series);
  const bounds = [...series.bounds, Number.POSITIVE_INFINITY];
  let text = "";
  let count = 0;
  for (const [at, bound] of bounds.entries()) {
    count += series.buckets[at] ?? 0;
    const bucket = [...labels, `le="${floatOf(bound)}"`];
    text += line(`${name}_bucket`, bucket, count, series.exemplars?.[at]);
  }
  return text + line(`${name}_sum`, labels, series.value) + line(`${name}_count`, labels, count);
}

function line(name: string, labels: readonly string[], value: number, shown?: Exemplar): string {
  const braces = labels.length === 0 ? "" : `{${labels.join(",")}}`;
  return `${name}${braces} ${value}${shown === undefined ? "" : exemplarOf(shown)}\n`;
}

/** O2 */
function exemplarOf({ traceId, spanId, value, at }: Exemplar): string {
  return ` # {trace_id="${traceId}",span_id="${spanId}"} ${value} ${at / 1_000}`;
}

/** Bounds are floats in this format: 1.0, not 1. */
function floatOf(bound: number): string {
  if (bound === Number.POSITIVE_INFINITY) return "+Inf";
  return Number.isInteger(bound) ? bound.toFixed(1) : String(bound);
}
