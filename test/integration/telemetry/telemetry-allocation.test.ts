// Telemetry allocation: counting is on the path of every message, so it must not allocate. A
// process whose young heap is too large to be collected shows the allocation of each call.

import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { expect, test } from "vitest";

const root = join(import.meta.dirname, "../../..");
const CALLS = 100_000;

const PROGRAM = `
  import { CONSUMER_METRICS as M } from "./src/ingest/telemetry/metrics.ts";
  import { systemClock as clock } from "./src/platform/system-clock.ts";
  import { createTelemetry } from "./src/telemetry/create-telemetry.ts";
  const telemetry = createTelemetry({ metrics: [M], clock, logs: null, onMisuse: "assert" });
  const queue = { queue: "q" };
  const labels = { queue: "q", class: "schema" };
  const stage = { stage: "total" };
  const kinds = {
    counted: () => telemetry.count(M.received.name, 1, queue),
    countedByTwo: () => telemetry.count(M.deadLetters.name, 1, labels),
    measured: () => telemetry.record(M.latency.name, 3, stage),
    set: () => telemetry.gauge(M.inFlight.name, 7, queue),
    // What it would look like: a key built for each call.
    careless: () => { globalThis.key = "q" + "," + Math.random(); },
  };
  const left = {};
  for (const [kind, call] of Object.entries(kinds)) {
    for (let at = 0; at < ${CALLS}; at += 1) call(); // Until it is compiled.
    const before = process.memoryUsage().heapUsed;
    for (let at = 0; at < ${CALLS}; at += 1) call();
    left[kind] = (process.memoryUsage().heapUsed - before) / ${CALLS};
  }
  console.log(JSON.stringify(left));
`;

test("updating an existing counter, histogram or gauge allocates nothing", () => {
  const heap = ["--min-semi-space-size=64", "--max-semi-space-size=64"];
  const args = [...heap, "--input-type=module-typescript", "--eval", PROGRAM];
  const output = execFileSync(process.execPath, args, { cwd: root, encoding: "utf8" });
  const { careless, ...bytes } = JSON.parse(output) as Record<string, number>;
  expect(careless).toBeGreaterThan(16); // The measurement sees garbage where there is some.
  for (const [kind, each] of Object.entries(bytes)) expect(each, kind).toBeLessThan(1);
});
