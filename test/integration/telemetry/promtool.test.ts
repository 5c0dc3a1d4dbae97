// Promtool: Prometheus's own checker reads the output of /metrics.

import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { CLOUD_METRICS } from "../../../src/cloud/cloud-metrics.ts";
import { CONSUMER_METRICS } from "../../../src/ingest/telemetry/metrics.ts";
import { systemClock } from "../../../src/platform/system-clock.ts";
import type { MetricDefinition, MetricTable } from "../../../src/ports/telemetry.ts";
import { PRODUCER_METRICS } from "../../../src/produce/metrics.ts";
import { createTelemetry } from "../../../src/telemetry/create-telemetry.ts";
import { EXPORT_METRICS } from "../../../src/telemetry/export-metrics.ts";
import { requirePart } from "../../support/requires.ts";
import { useTemporaryFolder } from "../../support/temporary-folder.ts";

const commands = requirePart("promtool");
const TABLES: MetricTable[] = [CONSUMER_METRICS, PRODUCER_METRICS, CLOUD_METRICS, EXPORT_METRICS];

function setUp(tables = TABLES) {
  return createTelemetry({ metrics: tables, clock: systemClock, logs: null, onMisuse: "assert" });
}

/** What promtool has to say; nothing if it is content. */
function check(input: string): { status: number | null; said: string } {
  const run = spawnSync(commands.promtool, ["check", "metrics"], { input, encoding: "utf8" });
  return { status: run.status, said: `${run.stdout}${run.stderr}` };
}

function fill(telemetry: ReturnType<typeof setUp>, definition: MetricDefinition): void {
  for (const value of ["plain", 'a "quoted" \\ one\nof two lines', "größer\ud800", ""]) {
    const labels = Object.fromEntries(definition.labels.map((label) => [label, value]));
    if (definition.kind === "counter") telemetry.count(definition.name, 3, labels);
    if (definition.kind === "gauge") telemetry.gauge(definition.name, 1_763_250_000.5, labels);
    if (definition.kind === "histogram") telemetry.record(definition.name, 0.3, labels);
  }
}

test("promtool accepts all metrics, with values under every kind of label", () => {
  const telemetry = setUp();
  for (const table of TABLES) for (const each of Object.values(table)) fill(telemetry, each);
  expect(check(telemetry.metricsText())).toEqual({ status: 0, said: "" });
});

test("promtool accepts the metrics of a process that has done nothing yet", () => {
  expect(check(setUp().metricsText())).toEqual({ status: 0, said: "" });
});

test("Prometheus reads the OpenMetrics text, with its exemplars", () => {
  const telemetry = setUp();
  const trace = { traceparent: `00-${"a".repeat(32)}-${"b".repeat(16)}-01`, tracestate: null };
  telemetry.record(CONSUMER_METRICS.applied.name, 7, { queue: "q" }, trace);
  for (const table of TABLES) for (const each of Object.values(table)) fill(telemetry, each);
  const { text, type } = telemetry.metricsPage(
    "application/openmetrics-text;version=1.0.0,*/*;q=0.1",
  );
  expect(type).toContain("application/openmetrics-text");
  expect(text).toContain(
    `tidegate_event_to_applied_seconds_bucket{queue="q",le="10.0"} 1 # {trace_id="${"a".repeat(32)}"`,
  );
  // Blocks need the time of each sample; the parser is the one of a scrape.
  const timed = text.replace(/^([a-z].*?(?:\}|[a-z]) [-\d.e+]+)( #.*)?$/gm, "$1 1700000000$2");
  const folder = useTemporaryFolder("openmetrics");
  writeFileSync(join(folder, "in"), timed);
  const args = [
    "tsdb",
    "create-blocks-from",
    "openmetrics",
    join(folder, "in"),
    join(folder, "out"),
  ];
  const run = spawnSync(commands.promtool, args, { encoding: "utf8" });
  expect({ status: run.status, said: run.stderr }).toEqual({ status: 0, said: "" });
});

test("promtool reports a metric that breaks the rules", () => {
  const bad = { name: "lag_milliseconds", kind: "gauge", help: "", labels: [] } as const;
  expect(check(setUp([{ bad }]).metricsText())).toMatchObject({ status: 3 });
});
