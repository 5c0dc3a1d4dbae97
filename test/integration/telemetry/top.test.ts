// tidegate top: reads the page of a producer or a pipeline, as Prometheus does.

import { expect, test } from "vitest";
import { serveMetrics } from "../../../src/api/telemetry.ts";
import { runCli } from "../../../src/cli/run-cli.ts";
import { CONSUMER_METRICS } from "../../../src/ingest/telemetry/metrics.ts";
import { systemClock } from "../../../src/platform/system-clock.ts";
import { createTelemetry } from "../../../src/telemetry/create-telemetry.ts";

async function top(...words: string[]) {
  const lines: string[] = [];
  const notes: string[] = [];
  const out = {
    terminal: false,
    line: (text: string) => void lines.push(text),
    note: (text: string) => void notes.push(text),
  };
  return { code: await runCli(["top", "--once", ...words], out), lines, notes };
}

test("shows a page of metrics as a table and as JSON", async () => {
  const telemetry = createTelemetry({
    metrics: [CONSUMER_METRICS],
    clock: systemClock,
    logs: null,
    onMisuse: "assert",
  });
  const queue = { queue: "work" };
  telemetry.count(CONSUMER_METRICS.received.name, 5, queue);
  telemetry.gauge(CONSUMER_METRICS.queueMessages.name, 1_200, { ...queue, state: "visible" });
  telemetry.gauge(CONSUMER_METRICS.deadLetterDepth.name, 2, { queue: "work-dead" });
  telemetry.gauge(CONSUMER_METRICS.costPerMillion.name, 1.234, queue);
  telemetry.record(CONSUMER_METRICS.applied.name, 7, queue);
  const listener = await serveMetrics(telemetry, { port: 0 });
  try {
    const url = `${listener.origin}/metrics`;
    const shown = await top("--url", url);
    expect(shown.code).toBe(0);
    expect(shown.lines.map((line) => line.trim().split(/\s{2,}/))).toEqual([
      "queue recv/s done/s dup_% busy waiting in_flight oldest_s stuck_s p95_s dead breaker $/million"
        .split(" ")
        .map((title) => title.replace("_", " ")),
      "work - - - - 1200 - - - 10.0 2 closed 1.23".split(" "),
    ]);
    const json = await top("--url", url, "--json");
    expect(JSON.parse(json.lines[0] ?? "")).toMatchObject({
      queues: [{ queue: "work", queueVisible: 1_200, appliedP95Seconds: 10, deadLetters: 2 }],
    });
  } finally {
    await listener.close();
  }
});

test("a page that cannot be read is one sentence and exit code 2 (T2)", async () => {
  const { code, notes } = await top("--url", "http://127.0.0.1:9/metrics");
  expect(code).toBe(2);
  expect(notes[0]).toContain("http://127.0.0.1:9/metrics cannot be read");
  expect(notes[0]).toContain("set --url to the /metrics of a pipeline");
});
