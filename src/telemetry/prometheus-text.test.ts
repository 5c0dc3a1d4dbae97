import { expect, test } from "vitest";
import { CONSUMER_METRICS } from "../ingest/telemetry/metrics.ts";
import type { MetricDefinition } from "../ports/telemetry.ts";
import { PRODUCER_METRICS } from "../produce/metrics.ts";
import { createMetricRegistry } from "./metric-registry.ts";
import { formatMetrics, prometheusName } from "./prometheus-text.ts";

const counter: MetricDefinition = { name: "a.b", kind: "counter", help: "A.", labels: ["q", "r"] };

function textOf(definition: MetricDefinition, ...values: [number, Record<string, string>?][]) {
  const registry = createMetricRegistry([{ definition }], (message) => {
    throw new Error(message);
  });
  for (const [value, labels] of values) {
    const { name, kind } = definition;
    if (kind === "counter") registry.count(name, value, labels);
    else if (kind === "gauge") registry.gauge(name, value, labels);
    else registry.record(name, value, labels);
  }
  return formatMetrics(registry.families());
}

test("a counter has one line per set of labels; empty labels are omitted (P3)", () => {
  expect(textOf(counter, [1, { q: "x", r: "" }], [2.5, { q: "y", r: "z" }])).toBe(
    [
      "# HELP a_b_total A.",
      "# TYPE a_b_total counter",
      'a_b_total{q="x"} 1',
      'a_b_total{q="y",r="z"} 2.5',
      "",
    ].join("\n"),
  );
});

test("a histogram has cumulative buckets, a sum and a count", () => {
  const spread: MetricDefinition = {
    name: "spread",
    kind: "histogram",
    help: "S.",
    labels: ["l"],
    buckets: [0.5, 1],
    unit: "seconds",
  };
  expect(textOf(spread, [0.25, { l: "x" }], [0.75, { l: "x" }], [9, { l: "x" }])).toBe(
    [
      "# HELP spread_seconds S.",
      "# TYPE spread_seconds histogram",
      'spread_seconds_bucket{l="x",le="0.5"} 1',
      'spread_seconds_bucket{l="x",le="1"} 2',
      'spread_seconds_bucket{l="x",le="+Inf"} 3',
      'spread_seconds_sum{l="x"} 10',
      'spread_seconds_count{l="x"} 3',
      "",
    ].join("\n"),
  );
});

test("a metric without values is rendered (P2)", () => {
  expect(textOf(counter)).toBe("# HELP a_b_total A.\n# TYPE a_b_total counter\n");
});

test("quotes, backslashes, line breaks and lone surrogates do not break a line", () => {
  const help = { ...counter, help: "back\\slash\nline" };
  const text = textOf(help, [1, { q: 'a"b\\c\nd\ud800', r: "}" }]);
  expect(text.split("\n")).toEqual([
    "# HELP a_b_total back\\\\slash\\nline",
    "# TYPE a_b_total counter",
    'a_b_total{q="a\\"b\\\\c\\nd\ufffd",r="}"} 1',
    "",
  ]);
});

test("metrics have the names of the contracts on /metrics", () => {
  const tables: MetricDefinition[] = [
    ...Object.values(CONSUMER_METRICS),
    ...Object.values(PRODUCER_METRICS),
  ];
  const shown = tables.map(
    (each) => `${prometheusName(each)}${each.labels.length > 0 ? `{${each.labels}}` : ""}`,
  );
  expect(shown).toEqual(
    expect.arrayContaining([
      "messages_received_total{queue}",
      "messages_duplicate_total{queue}",
      "processing_latency_seconds{stage}",
      "retry_attempts_total{reason}",
      "dead_letter_count{queue}",
      "watermark_event_time_seconds{stream}",
      "sqs_fifo_dedupe_collisions_detected_total",
      "sqs_fifo_producer_violations_total{field}",
      "sqs_fifo_body_hash_length_bytes",
      "sqs_fifo_dedupe_window_hits_total",
    ]),
  );
  expect(new Set(shown).size).toBe(shown.length);
  for (const name of shown) expect(name).toMatch(/^[a-z][a-z0-9_]*(\{[a-z_,]+\})?$/);
});
