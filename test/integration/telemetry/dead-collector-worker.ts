// Dead-collector worker: a producer and a pipeline that export to a collector, until three events
// are processed. It prints one line of JSON and then ends by itself, without process.exit.

import { createBrokerQueue } from "../../../src/cloud/broker-queue.ts";
import { startCloud } from "../../../src/cloud/start-cloud.ts";
import { pipeline } from "../../../src/ingest/spec/define-pipeline.ts";
import { systemPorts } from "../../../src/platform/index.ts";
import { PRODUCER_METRICS } from "../../../src/produce/metrics.ts";
import { createProducer } from "../../../src/produce/producer.ts";
import { startPipeline } from "../../../src/run/start-pipeline.ts";
import { createMemoryOutbox } from "../../../src/stores/memory/outbox.ts";
import { createTelemetry } from "../../../src/telemetry/create-telemetry.ts";
import { openOtlpExport } from "../../../src/telemetry/otlp-export.ts";
import { event } from "../../support/producer-world.ts";

const { clock } = systemPorts;
const onProblem = (sentence: string) => {
  throw new Error(sentence);
};
const otlp = await openOtlpExport({ clock, serviceName: "worker", onProblem });
if (otlp === null) throw new Error("no variable asks for an export");
const cloud = await startCloud({ memory: true, setup: { queues: [{ name: "work" }] } });
const telemetry = createTelemetry({ metrics: [PRODUCER_METRICS], clock, logs: null, otlp });
const producer = createProducer({
  ...systemPorts,
  target: createBrokerQueue(cloud.broker, { queue: "work" }),
  outbox: createMemoryOutbox(systemPorts),
  telemetry,
});
const handled: string[] = [];
const spec = pipeline({
  name: "reader",
  source: { queue: "work", contents: "messages" },
  handler: ({ envelope }) => {
    handled.push(envelope.dedupe_key);
  },
});
const settings = { endpoint: cloud.endpoint, ledger: "memory:", metricsPort: 0 };
const quiet = { onLogLine: () => {}, onError: () => {} };
const running = await startPipeline(spec, settings, { otlp, ...quiet });
const sent: string[] = [];
for (const key of ["a", "b", "c"]) sent.push((await producer.send(event(key))).kind);
await running.idle();
await running.drain();
await otlp.close();
await cloud.close();
const lost = [...telemetry.metricsText().matchAll(/lost_total\{signal="(\w+)"\} ([1-9]\d*)$/gm)];
const signals = lost.map(([, signal]) => signal).toSorted();
process.stdout.write(`${JSON.stringify({ handled: handled.length, sent, lost: signals })}\n`);
