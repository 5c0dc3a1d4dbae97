import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { CLOUD_METRICS } from "../../src/cloud/cloud-metrics.ts";
import { CONSUMER_METRICS, STAGES } from "../../src/ingest/telemetry/metrics.ts";
import type { MetricDefinition, MetricTable } from "../../src/ports/telemetry.ts";
import { PRODUCER_METRICS } from "../../src/produce/metrics.ts";
import { EXPORT_METRICS } from "../../src/telemetry/export-metrics.ts";
import { SERIES_MAX } from "../../src/telemetry/metric-registry.ts";
import { prometheusName } from "../../src/telemetry/prometheus-text.ts";
import { rowsOf } from "../support/markdown-table.ts";

const root = join(import.meta.dirname, "../..");
const page = readFileSync(join(root, "docs/reference/metrics.md"), "utf8");
/** The part of the page below a heading. */
const below = (heading: string) => page.split(`## ${heading}\n`)[1]?.split("\n## ")[0] ?? "";
const TABLES: readonly MetricTable[] = [
  CONSUMER_METRICS,
  PRODUCER_METRICS,
  CLOUD_METRICS,
  EXPORT_METRICS,
];
const ALL: MetricDefinition[] = TABLES.flatMap((table) => Object.values(table));
const shown = (name: string) => `\`${name}\``;

test.each<[string, string, MetricTable]>([
  ["consumers", below("Consumers"), CONSUMER_METRICS],
  ["producers", below("Producers"), PRODUCER_METRICS],
  ["the embedded cloud", below("Embedded cloud"), CLOUD_METRICS],
  ["the export", below("Export"), EXPORT_METRICS],
])("the page lists exactly the metrics of %s", (_whose, part, table) => {
  const expected = Object.values(table).map((metric) => [
    shown(prometheusName(metric)),
    metric.kind,
    metric.labels.map(shown).join(", "),
    shown(metric.name),
    metric.help,
  ]);
  expect(rowsOf(part, "metric")).toEqual(expected);
});

test("the page lists the buckets of every histogram", () => {
  const expected = ALL.filter(({ kind }) => kind === "histogram").map((metric) => [
    shown(prometheusName(metric)),
    metric.buckets?.join(" "),
  ]);
  expect(rowsOf(page, "histogram")).toEqual(expected);
});

test("the page has the stages and the limit of label sets", () => {
  const list = `${STAGES.slice(0, -1).join(", ")} and ${STAGES.at(-1)}`;
  expect(page.replace(/\s+/g, " ")).toContain(`is one of ${list}.`);
  expect(page).toContain(`at most ${SERIES_MAX.toLocaleString("en")} sets of labels`);
});
