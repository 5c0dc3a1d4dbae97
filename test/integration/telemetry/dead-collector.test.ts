// A dead collector costs nothing but a counter: a producer and a pipeline in one process, whose
// exports never arrive. The exporter may wait for ten minutes; the process does not.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { expect, test } from "vitest";
import { type CollectorMood, startOtlpCollector } from "../../support/otlp-collector.ts";
import { patienceMs } from "../../support/patience.ts";

const WORKER = join(import.meta.dirname, "dead-collector-worker.ts");
/** Far above the limit of this test, so a process that waits for the exporter does not end. */
const EXPORTER_MS = "600000";
const LIMIT_MS = patienceMs(120_000);

/** Requests of both exporters that may be on their way when the worker prints its line. */
const ON_THEIR_WAY = 2;

/** What the worker printed, once it has ended by itself; it prints after its export is closed. */
async function runWorker(url: string, onPrinted = () => {}) {
  const env = {
    ...process.env,
    OTEL_EXPORTER_OTLP_ENDPOINT: url,
    OTEL_EXPORTER_OTLP_TIMEOUT: EXPORTER_MS,
    OTEL_METRIC_EXPORT_INTERVAL: "100",
    OTEL_BSP_EXPORT_TIMEOUT: EXPORTER_MS,
  };
  const child = spawn(process.execPath, [WORKER], { env, stdio: ["ignore", "pipe", "pipe"] });
  const printed = { out: "", err: "" };
  child.stdout.on("data", (chunk) => {
    printed.out += chunk;
    onPrinted();
  });
  child.stderr.on("data", (chunk) => {
    printed.err += chunk;
  });
  const ending = once(child, "close");
  const kill = setTimeout(() => child.kill("SIGKILL"), LIMIT_MS / 2);
  const [code] = await ending;
  clearTimeout(kill);
  expect([code, printed.err]).toEqual([0, ""]);
  return JSON.parse(printed.out) as unknown;
}

const EVERYTHING = { handled: 3, sent: ["sent", "sent", "sent"], lost: ["metrics", "traces"] };

test.each<CollectorMood>(["hangs", "fails", "is busy"])(
  "a process ends in time if its collector %s, and counts what was lost",
  async (mood) => {
    await using collector = await startOtlpCollector();
    collector.mood = mood;
    let atTheEnd = 0;
    const onPrinted = () => {
      atTheEnd = collector.requests.length;
    };
    expect(await runWorker(collector.url, onPrinted)).toEqual(EVERYTHING);
    expect(collector.requests.length - atTheEnd).toBeLessThanOrEqual(ON_THEIR_WAY);
    const paths = new Set(collector.requests.map(({ path }) => path));
    expect([...paths].toSorted()).toEqual(["/v1/metrics", "/v1/traces"]);
  },
  LIMIT_MS,
);

test(
  "a process ends in time if its collector refuses connections, and counts what was lost",
  async () => {
    const collector = await startOtlpCollector();
    await collector[Symbol.asyncDispose]();
    expect(await runWorker(collector.url)).toEqual(EVERYTHING);
  },
  LIMIT_MS,
);
