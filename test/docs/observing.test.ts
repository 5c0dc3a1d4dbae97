import { execFileSync, spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { createMask } from "../../src/core/encoding/mask.ts";
import { ALARM_TABLE } from "../../src/infra/alarm-table.ts";
import { CONSUMER_METRICS } from "../../src/ingest/telemetry/metrics.ts";
import { logFieldsOf } from "../../src/ingest/telemetry/record-log-fields.ts";
import { createRecordMask } from "../../src/ingest/telemetry/record-mask.ts";
import type { MetricTable } from "../../src/ports/telemetry.ts";
import { EXPORT_METRICS } from "../../src/telemetry/export-metrics.ts";
import { prometheusName } from "../../src/telemetry/prometheus-text.ts";
import { needsFullSize } from "../support/full-size.ts";
import { rowsOf } from "../support/markdown-table.ts";
import { requirePart } from "../support/requires.ts";

const root = join(import.meta.dirname, "../..");
const read = (path: string) => readFileSync(join(root, path), "utf8");
const page = read("docs/guides/observing.md");

test.each([
  ["examples/prometheus/prometheus.yml", "yaml"],
  ["examples/observed-producer.ts", "ts"],
])("the guide shows %s, word for word", (example, language) => {
  expect(page).toContain(`\`\`\`${language}\n${read(example)}\`\`\``);
});

test("the example propagates a trace, logs a line and counts", () => {
  const args = ["--conditions=tidegate-source", "examples/observed-producer.ts"];
  const output = execFileSync(process.execPath, args, { cwd: root, encoding: "utf8" });
  const [line = "", number] = output.trimEnd().split("\n");
  expect(JSON.parse(line)).toMatchObject({
    level: "info",
    msg: "received",
    run_id: "run-7",
    trace_id: "4bf92f3577b34da6a3ce929d0e0e4736",
  });
  expect(number).toBe("sqs_fifo_dedupe_window_hits_total 1");
});

const RULES = read("examples/prometheus/tidegate-rules.yml");
const EXISTING = [CONSUMER_METRICS, EXPORT_METRICS].flatMap((table: MetricTable) =>
  Object.values(table).flatMap((metric) => {
    const name = prometheusName(metric);
    return metric.kind === "histogram" ? [`${name}_bucket`, `${name}_count`] : [name];
  }),
);
const RECORDED = [...RULES.matchAll(/- record: (\S+)/g)].map(([, name = ""]) => name);

/** Names in queries that no table declares. */
function foreignNames(queries: string): string[] {
  const plain = queries.replace(/"[^"]*"/g, "").replace(/\b(?:by|without) \([^)]*\)/g, "");
  const names = plain.match(/\b[a-z]+(?:[_:][a-z0-9]+)+\b/g) ?? [];
  expect(new Set(names).size).toBeGreaterThan(4);
  const functions = ["histogram_quantile", "label_values"];
  const labels = ["in_flight"];
  const allowed = new Set([...EXISTING, ...RECORDED, ...functions, ...labels]);
  return names.filter((name) => !allowed.has(name));
}

/** The label of every `by`, each checked against the tables. */
function checkLabels(queries: string): void {
  const labels = Object.values(CONSUMER_METRICS).flatMap((metric) => [...metric.labels]);
  const existing = new Set<string>([...labels, "le", "signal", "__name__", "pipeline"]);
  for (const [, list = ""] of queries.matchAll(/\bby \(([^)]*)\)/g)) {
    for (const label of list.split(",")) expect([...existing]).toContain(label.trim());
  }
}

test("queries, rules and the dashboard use existing metrics and labels", () => {
  const queries = /```promql\n(.*?)```/s.exec(page)?.[1] ?? "";
  const rules = [...RULES.matchAll(/expr: (?:\|\n((?: {10}.*\n)+)|(.*))/g)]
    .map(([, block = "", line = ""]) => block + line)
    .join("\n");
  const dashboard = JSON.parse(read("examples/grafana/tidegate.json"));
  const panels: { targets?: { expr: string }[] }[] = dashboard.panels;
  const shown = panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr)).join("\n");
  for (const asked of [queries, rules, shown]) {
    expect(foreignNames(asked)).toEqual([]);
    checkLabels(asked);
  }
  expect(foreignNames(`${shown} no_such_metric`)).toEqual(["no_such_metric"]);
});

test("panels of the dashboard have their own place, and links to runbooks that exist", () => {
  const { panels } = JSON.parse(read("examples/grafana/tidegate.json"));
  const cells = new Set<string>();
  for (const { id, gridPos, links = [], title } of panels) {
    for (let x = gridPos.x; x < gridPos.x + gridPos.w; x++) {
      for (let y = gridPos.y; y < gridPos.y + gridPos.h; y++) {
        expect(cells.has(`${x},${y}`), `${id} ${title}`).toBe(false);
        cells.add(`${x},${y}`);
      }
    }
    for (const { url } of links) expectAnchor(url);
  }
});

/** Fails unless the page and its heading exist. */
function expectAnchor(address: string): void {
  const [path = "", anchor] = address.split("#");
  const headings = read(path).match(/^#+ .*$/gm) ?? [];
  const anchors = headings.map((each) =>
    each
      .replace(/^#+ /, "")
      .toLowerCase()
      .replace(/[^\w -]/g, "")
      .replaceAll(" ", "-"),
  );
  if (anchor !== undefined) expect(anchors, address).toContain(anchor);
}

interface Alert {
  readonly name: string;
  readonly expr: string;
  readonly severity: string;
  readonly runbook: string;
}

const ALERTS: Alert[] = RULES.split("- alert: ")
  .slice(1)
  .map((text) => ({
    name: /^\S+/.exec(text)?.[0] ?? "",
    expr: /expr: (.*)/.exec(text)?.[1] ?? "",
    severity: /severity: (\S+)/.exec(text)?.[1] ?? "",
    runbook: /runbook_url: (\S+)/.exec(text)?.[1] ?? "",
  }));

test("every alert has a severity, a runbook that exists, a unit test and a row in the guide", () => {
  const tests = read("examples/prometheus/tidegate-rules.test.yml");
  for (const { name, severity, runbook } of ALERTS) {
    expect(["warning", "critical"]).toContain(severity);
    expectAnchor(runbook);
    expect(tests).toContain(name);
  }
  expect(rowsOf(page, "alert").map(([name, severity]) => [name, severity])).toEqual(
    ALERTS.map(({ name, severity }) => [`\`${name}\``, severity]),
  );
});

test("alerts on queues have the thresholds, severities and runbooks of the CloudWatch alarms", () => {
  const metricOf: Record<string, string> = {
    "queue ApproximateNumberOfMessagesVisible": 'tidegate_queue_messages{state="visible"}',
    "queue ApproximateNumberOfMessagesNotVisible": 'tidegate_queue_messages{state="in_flight"}',
    "queue ApproximateAgeOfOldestMessage": "tidegate_queue_oldest_message_seconds",
    "dead-letter-queue ApproximateNumberOfMessagesVisible": "dead_letter_count",
  };
  const compared = ALARM_TABLE.filter(
    (row) => row.kind === "threshold" && `${row.on} ${row.metric}` in metricOf,
  );
  expect(compared.length).toBeGreaterThan(5);
  for (const row of compared) {
    if (row.kind !== "threshold") continue;
    const metric = metricOf[`${row.on} ${row.metric}`];
    const expr = `max by (queue) (${metric}) > ${row.threshold}`;
    expect(ALERTS).toContainEqual({
      name: expect.any(String),
      expr,
      severity: row.severity,
      runbook: `docs/runbooks/${row.runbook}`,
    });
  }
});

test("the guide lists every field of log lines about a record", () => {
  const hold = { delivery: { messageId: "m" }, trace: { traceId: null } };
  const record = { object: null, identity: "i" };
  const masked = createRecordMask(createMask([]));
  const fields = Object.keys(logFieldsOf(record as never, hold as never, "run", { masked }));
  expect(rowsOf(page, "field").map(([name]) => name)).toEqual(fields.map((name) => `\`${name}\``));
});

describe("Prometheus", () => {
  const commands = requirePart("promtool");

  test.each([
    ["rules", "examples/prometheus/tidegate-rules.yml"],
    ["config", "examples/prometheus/prometheus.yml"],
  ])("accepts the %s of the guide", (kind, file) => {
    const run = spawnSync(commands.promtool, ["check", kind, join(root, file)]);
    expect({ status: run.status, said: String(run.stderr) }).toEqual({ status: 0, said: "" });
  });

  test("fires every alert when it should, and none on a healthy pipeline", (context) => {
    needsFullSize(context);
    const file = "tidegate-rules.test.yml";
    const cwd = join(root, "examples/prometheus");
    const run = spawnSync(commands.promtool, ["test", "rules", file], { cwd, encoding: "utf8" });
    expect(`${run.stdout}${run.stderr}`).toContain("SUCCESS");
    expect(run.status).toBe(0);
  });
});
