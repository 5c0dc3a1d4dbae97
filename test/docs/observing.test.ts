import { execFileSync, spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { createMask } from "../../src/core/encoding/mask.ts";
import { CONSUMER_METRICS } from "../../src/ingest/telemetry/metrics.ts";
import { logFieldsOf } from "../../src/ingest/telemetry/record-log-fields.ts";
import { createRecordMask } from "../../src/ingest/telemetry/record-mask.ts";
import { prometheusName } from "../../src/telemetry/prometheus-text.ts";
import { rowsOf } from "../support/markdown-table.ts";
import { requirePart } from "../support/requires.ts";

const root = join(import.meta.dirname, "../..");
const read = (path: string) => readFileSync(join(root, path), "utf8");
const page = read("docs/guides/observing.md");

test.each([
  ["examples/prometheus/prometheus.yml", "yaml"],
  ["examples/prometheus/tidegate-rules.yml", "yaml"],
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

test("queries and rules use existing metrics and labels", () => {
  const queries = /```promql\n(.*?)```/s.exec(page)?.[1] ?? "";
  const asked = `${queries} ${read("examples/prometheus/tidegate-rules.yml")}`;
  const names = asked.match(/\b[a-z]+(?:_[a-z]+)+\b/g) ?? [];
  const existing = Object.values(CONSUMER_METRICS).flatMap((metric) => {
    const name = prometheusName(metric);
    return metric.kind === "histogram" ? [`${name}_bucket`] : [name];
  });
  const foreign = names.filter((name) => !existing.includes(name) && name !== "histogram_quantile");
  expect(foreign).toEqual([]);
  expect(new Set(names).size).toBeGreaterThan(8);
  const labels = new Set<string>(Object.values(CONSUMER_METRICS).flatMap(({ labels }) => labels));
  for (const [, label = ""] of asked.matchAll(/\bby \((\w+)\)/g)) {
    expect([...labels, "le"]).toContain(label);
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
});
