import { describe, expect, test } from "vitest";
import { ManualClock } from "../../test/support/manual-clock.ts";
import { CONSUMER_METRICS } from "../ingest/telemetry/metrics.ts";
import { PRODUCER_METRICS } from "../produce/metrics.ts";
import { createTelemetry, type TelemetryOptions } from "./create-telemetry.ts";

const clock = new ManualClock(0);

function setUp(options: Partial<TelemetryOptions> = {}) {
  const lines: string[] = [];
  const telemetry = createTelemetry({
    metrics: [CONSUMER_METRICS, PRODUCER_METRICS],
    clock,
    logs: { to: (line) => lines.push(JSON.parse(line).msg) },
    ...options,
  });
  return { telemetry, lines };
}

test("counters, histograms and gauges are on /metrics", () => {
  const { telemetry } = setUp({ onMisuse: "assert" });
  telemetry.count(CONSUMER_METRICS.received.name, 10, { queue: "q" });
  telemetry.count(PRODUCER_METRICS.windowHits.name);
  telemetry.record(CONSUMER_METRICS.latency.name, 0.3, { stage: "total" });
  telemetry.gauge(CONSUMER_METRICS.inFlight.name, 7, { queue: "q" });
  const text = telemetry.metricsText();
  expect(text).toContain('\nmessages_received_total{queue="q"} 10\n');
  expect(text).toContain("\nsqs_fifo_dedupe_window_hits_total 1\n");
  expect(text).toContain('\nprocessing_latency_seconds_bucket{stage="total",le="0.5"} 1\n');
  expect(text).toContain('\ntidegate_records_in_flight{queue="q"} 7\n');
});

describe("a metric that no table declares", () => {
  test("is dropped in production, and logged once", () => {
    const { telemetry, lines } = setUp();
    const before = telemetry.metricsText();
    for (let times = 0; times < 3; times++) {
      telemetry.count("huh_total");
      telemetry.gauge(CONSUMER_METRICS.inFlight.name, 1, { topic: "t" });
    }
    expect(telemetry.metricsText()).toBe(before);
    expect(lines).toEqual([
      "metric dropped: unknown counter huh_total",
      expect.stringContaining("for tidegate_records_in_flight; expected queue"),
    ]);
  });

  test("throws in tests that ask for it", () => {
    const { telemetry } = setUp({ onMisuse: "assert" });
    expect(() => telemetry.count("huh_total")).toThrow("unknown counter huh_total");
  });

  test("does not fill memory or the log, however many there are", () => {
    const { telemetry, lines } = setUp();
    for (let at = 0; at < 1_000; at++) telemetry.count(`huh_${at}`);
    expect(lines).toHaveLength(100);
  });
});

test("gauges can be refreshed at each scrape, and a failing one does not affect the others", () => {
  const { telemetry, lines } = setUp();
  let age = 1;
  const stop = telemetry.beforeScrape(() => {
    telemetry.gauge(CONSUMER_METRICS.oldestUnsettled.name, age, { queue: "q" });
  });
  telemetry.beforeScrape(() => {
    throw new Error("the ledger is gone");
  });
  expect(telemetry.metricsText()).toContain(
    'tidegate_oldest_unsettled_event_seconds{queue="q"} 1\n',
  );
  age = 2;
  expect(telemetry.metricsText()).toContain(
    'tidegate_oldest_unsettled_event_seconds{queue="q"} 2\n',
  );
  stop();
  age = 3;
  expect(telemetry.metricsText()).toContain(
    'tidegate_oldest_unsettled_event_seconds{queue="q"} 2\n',
  );
  expect(lines).toEqual(["metric dropped: cannot read a gauge: the ledger is gone"]);
});

test("without logs and tracing nothing is written, and contexts are passed on", () => {
  const { telemetry } = setUp({ logs: null });
  telemetry.log("error", "not written");
  const parent = { traceparent: `00-${"a".repeat(32)}-${"b".repeat(16)}-01`, tracestate: null };
  const span = telemetry.span("process q", { kind: "consumer", parent });
  span.end();
  expect(span.context).toBe(parent);
});
