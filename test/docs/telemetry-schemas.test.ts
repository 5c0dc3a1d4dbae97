// Telemetry schemas: the published schemas of log lines and of the metric table are true.

import { readFileSync } from "node:fs";
import { Ajv2020 } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import { expect, test } from "vitest";
import { CLOUD_METRICS } from "../../src/cloud/cloud-metrics.ts";
import { CONSUMER_METRICS } from "../../src/ingest/telemetry/metrics.ts";
import type { LogFields, MetricTable } from "../../src/ports/telemetry.ts";
import { PRODUCER_METRICS } from "../../src/produce/metrics.ts";
import { createTelemetry } from "../../src/telemetry/create-telemetry.ts";
import { EXPORT_METRICS } from "../../src/telemetry/export-metrics.ts";
import { createJsonLog } from "../../src/telemetry/json-log.ts";
import { prometheusName } from "../../src/telemetry/prometheus-text.ts";
import { createConsumerWorld } from "../support/consumer-world.ts";
import { ManualClock } from "../support/manual-clock.ts";

const read = (path: string) =>
  JSON.parse(readFileSync(new URL(`../../docs/reference/${path}`, import.meta.url), "utf8"));
const ajv = new Ajv2020({ strict: true, allowUnionTypes: true, allErrors: true });
addFormats.default(ajv);
const isLogLine = ajv.compile(read("schemas/log-line.schema.json"));
const isMetricTable = ajv.compile(read("schemas/metric-table.schema.json"));

const rowsOfTable = (table: MetricTable) =>
  Object.values(table).map(({ name, kind, help, labels, buckets, unit }) => ({
    name: prometheusName({ name, kind, help, labels, ...(unit && { unit }) }),
    otel_name: name,
    kind,
    help,
    labels: [...labels],
    ...(buckets && { buckets: [...buckets] }),
  }));

test("metrics.json is the metric table of the code, and follows its schema", () => {
  const table = read("metrics.json");
  expect(isMetricTable(table), JSON.stringify(isMetricTable.errors)).toBe(true);
  expect(table).toEqual({
    consumers: rowsOfTable(CONSUMER_METRICS),
    producers: rowsOfTable(PRODUCER_METRICS),
    cloud: rowsOfTable(CLOUD_METRICS),
    export: rowsOfTable(EXPORT_METRICS),
  });
  const [first] = table.consumers;
  expect(isMetricTable({ ...table, consumers: [{ ...first, kind: "histogram" }] })).toBe(false);
});

test("every line of a consumer that commits, retries and dead-letters follows the schema", async () => {
  const lines: unknown[] = [];
  const to = (line: string) => lines.push(JSON.parse(line));
  await using world = await createConsumerWorld({
    pipeline: { retry: { attempts: 2, baseMs: 10, capMs: 10 } },
    handler({ envelope }, { log }) {
      log("info", "working", { rows: 3 });
      if (envelope.dedupe_key === "bad") throw new Error("no such station");
    },
    telemetry: ({ clock }) =>
      createTelemetry({ metrics: [CONSUMER_METRICS], clock, logs: { level: "debug", to } }),
  });
  await world.consumer().start();
  for (const key of ["good", "bad"]) await world.send(key);
  await world.pass(10_000);
  const messages = lines.map((line) => String((line as { msg: string }).msg));
  for (const start of ["working", "committed", "attempt 1 failed", "dead-lettered"]) {
    expect(messages.some((message) => message.startsWith(start))).toBe(true);
  }
  for (const line of lines) expect(isLogLine(line), JSON.stringify(isLogLine.errors)).toBe(true);
});

test("lines with odd values follow the schema, and a line without a level does not", () => {
  const lines: unknown[] = [];
  const log = createJsonLog(new ManualClock(0), { to: (line) => lines.push(JSON.parse(line)) });
  log("warn", "x".repeat(100_000), {
    deep: { a: [1n] },
    error: new Error("e"),
  } as never as LogFields);
  expect(isLogLine(lines[0]), JSON.stringify(isLogLine.errors)).toBe(true);
  expect(isLogLine({ time: "1970-01-01T00:00:00Z", msg: "m" })).toBe(false);
  expect(isLogLine({ level: "info", time: "1970-01-01 00:00", msg: "m" })).toBe(false);
});
