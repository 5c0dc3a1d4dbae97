import { expect, test } from "vitest";
import { ManualClock } from "../../test/support/manual-clock.ts";
import { createTelemetry } from "./create-telemetry.ts";
import { prefersOpenMetrics } from "./openmetrics-text.ts";

const TABLE = {
  sent: { name: "sent", kind: "counter", help: 'Sent, "all".', labels: ["to"] },
  took: { name: "took_seconds", kind: "histogram", help: "Took.", labels: [], buckets: [0.5, 1] },
} as const;
const SAMPLED = { traceparent: `00-${"a".repeat(32)}-${"b".repeat(16)}-01`, tracestate: null };
const UNSAMPLED = { traceparent: `00-${"c".repeat(32)}-${"d".repeat(16)}-00`, tracestate: null };
const ACCEPT = "application/openmetrics-text;version=1.0.0;q=0.5,text/plain;q=0.1";

test("a scrape that asks for OpenMetrics gets exemplars of sampled traces, and the end (O1, O2, O3)", () => {
  const clock = new ManualClock(1_500);
  const telemetry = createTelemetry({ metrics: [TABLE], clock, logs: null });
  telemetry.count("sent", 2, { to: "q" });
  telemetry.record("took_seconds", 0.7, {}, SAMPLED);
  telemetry.record("took_seconds", 0.8, {}, UNSAMPLED);
  telemetry.record("took_seconds", 0.1);
  expect(telemetry.metricsPage(ACCEPT).text).toBe(
    [
      "# TYPE sent counter",
      '# HELP sent Sent, \\"all\\".',
      'sent_total{to="q"} 2',
      "# TYPE took_seconds histogram",
      "# HELP took_seconds Took.",
      'took_seconds_bucket{le="0.5"} 1',
      `took_seconds_bucket{le="1.0"} 3 # {trace_id="${"a".repeat(32)}",span_id="${"b".repeat(16)}"} 0.7 1.5`,
      'took_seconds_bucket{le="+Inf"} 3',
      `took_seconds_sum ${0.7 + 0.8 + 0.1}`,
      "took_seconds_count 3",
      "# EOF",
      "",
    ].join("\n"),
  );
});

test("every other scrape gets the text format of Prometheus, without exemplars", () => {
  const telemetry = createTelemetry({ metrics: [TABLE], clock: new ManualClock(0), logs: null });
  telemetry.record("took_seconds", 0.7, {}, SAMPLED);
  for (const accept of [undefined, "*/*", "text/plain", "application/openmetrics-text;q=0"]) {
    expect(prefersOpenMetrics(accept)).toBe(false);
    const { text, type } = telemetry.metricsPage(accept);
    expect(type).toContain("text/plain; version=0.0.4");
    expect(text).not.toContain("trace_id");
  }
});
