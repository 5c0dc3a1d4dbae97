// OTLP export: spans and metrics of a pipeline and a producer, as a collector receives them.

import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { SNSClient } from "@aws-sdk/client-sns";
import { afterEach, expect, test, vi } from "vitest";
import stations from "../../../examples/stations/pipeline.ts";
import { createSnsTopic } from "../../../src/aws/sns/sns-topic.ts";
import { createBrokerQueue } from "../../../src/cloud/broker-queue.ts";
import { startCloud } from "../../../src/cloud/start-cloud.ts";
import { pipeline } from "../../../src/ingest/spec/define-pipeline.ts";
import { systemPorts } from "../../../src/platform/index.ts";
import { PRODUCER_METRICS } from "../../../src/produce/metrics.ts";
import { createProducer } from "../../../src/produce/producer.ts";
import { startDev } from "../../../src/run/dev/start-dev.ts";
import { startPipeline } from "../../../src/run/start-pipeline.ts";
import { createMemoryOutbox } from "../../../src/stores/memory/outbox.ts";
import { createTelemetry } from "../../../src/telemetry/create-telemetry.ts";
import { openOtlpExport } from "../../../src/telemetry/otlp-export.ts";
import { eventually } from "../../support/eventually.ts";
import {
  type OtlpCollector,
  type ReceivedSpan,
  startOtlpCollector,
} from "../../support/otlp-collector.ts";
import { event } from "../../support/producer-world.ts";
import { useTemporaryFolder } from "../../support/temporary-folder.ts";

const TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";
const PUT = "00f067aa0ba902b7";
const XRAY = `Root=1-${TRACE.slice(0, 8)}-${TRACE.slice(8)};Parent=${PUT};Sampled=1`;
const CLIENT = 3;
const CONSUMER = 5;
const PRODUCER = 4;
const ERROR = 2;
const data = useTemporaryFolder("otlp");
const quiet = { onLogLine: () => {}, onError: () => {} };

afterEach(() => vi.unstubAllEnvs());

async function open(variables: Readonly<Record<string, string>>) {
  for (const [name, value] of Object.entries(variables)) vi.stubEnv(name, value);
  const problems: string[] = [];
  const otlp = await openOtlpExport({
    clock: systemPorts.clock,
    serviceName: "tidegate",
    onProblem: (sentence) => problems.push(sentence),
  });
  if (otlp === null) throw new Error(`no export: ${problems.join("; ")}`);
  return otlp;
}

const childrenOf = (spans: readonly ReceivedSpan[], parent: ReceivedSpan | undefined) =>
  spans.filter(({ parentSpanId }) => parentSpanId === parent?.spanId).map(({ name }) => name);

/** Puts a good and a bad file into the bucket of the stations, and waits until both are done. */
async function putTwoFiles(collector: OtlpCollector) {
  await using otlp = await open({
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    OTEL_SERVICE_NAME: "weather",
    OTEL_RESOURCE_ATTRIBUTES: "deployment.environment=test",
  });
  await using running = await startDev(stations, { data, port: 0 }, { otlp, ...quiet });
  const put = async (name: string, body: string) => {
    const url = `${running.endpoint}/stations/observations/2026-03-01/${name}`;
    const headers = { "x-amzn-trace-id": XRAY };
    expect((await fetch(url, { method: "PUT", body, headers })).status).toBe(200);
  };
  const head = "station,time,temperature,humidity,wind\n";
  await put("BER01.csv", `${head}BER01,2026-03-01T10:00:00Z,7,50,3\n`);
  await put("BER02.csv", `${head}nowhere,2026-03-01T10:00:00Z,7,50,3\n`);
  await running.idle();
  await running.drain();
  await otlp.flush();
}

test("a collector receives the whole tree, from the put of an object to the row of a table", async () => {
  await using collector = await startOtlpCollector();
  await putTwoFiles(collector);
  const spans = collector.spans();
  const named = (name: string) => spans.filter((span) => span.name === name);
  const processed = named("process stations-events");
  const good = processed.find(({ status }) => status.code !== ERROR);
  const bad = processed.find(({ status }) => status.code === ERROR);
  expect(good).toMatchObject({
    traceId: TRACE,
    parentSpanId: PUT,
    kind: CONSUMER,
    attributes: {
      "messaging.system": "aws_sqs",
      "messaging.operation.type": "process",
      "messaging.destination.name": "stations-events",
    },
  });
  const messageId = good?.attributes["messaging.message.id"];
  const received = named("receive stations-events").find(({ links }) =>
    links.some(({ attributes }) => Object.values(attributes).includes(messageId)),
  );
  expect(received).toMatchObject({ kind: CLIENT, links: [{ traceId: TRACE, spanId: PUT }] });
  expect(good?.links.map(({ spanId }) => spanId)).toEqual([received?.spanId]);
  expect(childrenOf(spans, good).toSorted()).toEqual([
    "S3/GetObject",
    "S3/HeadObject",
    "claim",
    "commit",
  ]);
  const get = named("S3/GetObject").find(({ parentSpanId }) => parentSpanId === good?.spanId);
  expect(get).toMatchObject({
    kind: CLIENT,
    attributes: { "aws.s3.bucket": "stations", "aws.s3.key": "observations/2026-03-01/BER01.csv" },
  });
  const settled = named("delete stations-events").flatMap(({ links }) => links);
  expect(settled.map(({ spanId }) => spanId)).toEqual(
    expect.arrayContaining([good?.spanId, bad?.spanId]),
  );

  expect(bad?.attributes["error.type"]).toBe("schema");
  expect(childrenOf(spans, bad)).toContain("send stations-dead-letters");
  expect(named("send stations-dead-letters")).toMatchObject([{ kind: CLIENT, status: {} }]);

  using database = new DatabaseSync(join(data, "ledger.db"), { readOnly: true });
  expect(database.prepare("SELECT station FROM observation").all()).toEqual([{ station: "BER01" }]);
  expect(collector.resource()).toMatchObject({
    "service.name": "weather",
    "deployment.environment": "test",
  });
  expect(collector.points("tidegate_messages_committed_total")).toMatchObject([{ asDouble: 1 }]);
  const durations = collector.points("messaging.process.duration");
  expect(durations.map(({ count }) => count)).toEqual([1, 1]);
  expect(durations[0]?.attributes).toMatchObject({ "messaging.system": "aws_sqs" });
});

test("a trace goes from a producer through a topic and a queue to the consumer", async () => {
  await using collector = await startOtlpCollector();
  await using otlp = await open({
    OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${collector.url}/v1/traces`,
  });
  const setup = {
    queues: [{ name: "work" }],
    topics: [{ name: "news" }],
    subscriptions: [{ topic: "news", queue: "work" }],
  };
  await using cloud = await startCloud({ memory: true, setup });
  const credentials = { accessKeyId: "any", secretAccessKey: "any" };
  const client = new SNSClient({ endpoint: cloud.endpoint, region: "us-east-1", credentials });
  const telemetry = createTelemetry({
    metrics: [PRODUCER_METRICS],
    clock: systemPorts.clock,
    logs: null,
    otlp,
  });
  const target = createSnsTopic({
    client,
    topicArn: "arn:aws:sns:us-east-1:000000000000:news",
  });
  const outbox = createMemoryOutbox(systemPorts);
  const producer = createProducer({ ...systemPorts, target, outbox, telemetry });
  const spec = pipeline({
    name: "reader",
    source: { queue: "work", contents: "messages" },
    handler() {},
  });
  const settings = { endpoint: cloud.endpoint, ledger: "memory:", metricsPort: 0 };
  await using running = await startPipeline(spec, settings, { otlp, ...quiet });
  await producer.send(event("a"));
  await eventually(() => expect(running.snapshot().committed).toBe(1));
  await running.drain();
  await otlp.flush();
  client.destroy();
  const spans = collector.spans();
  const created = spans.find(({ name }) => name === "create news");
  const published = spans.find(({ name }) => name === "publish news");
  const processed = spans.find(({ name }) => name === "process work");
  expect(created).toMatchObject({ kind: PRODUCER, attributes: { "messaging.system": "aws.sns" } });
  expect(published?.links).toMatchObject([{ spanId: created?.spanId }]);
  expect(processed).toMatchObject({ traceId: created?.traceId, parentSpanId: created?.spanId });
  expect(collector.requests.map(({ path }) => path)).not.toContain("/v1/metrics");
});

test("the variables decide what is exported, and a wrong value is one sentence", async () => {
  const problems: string[] = [];
  const openWith = (env: Record<string, string>) =>
    openOtlpExport({
      env,
      clock: systemPorts.clock,
      serviceName: "t",
      onProblem: (sentence) => problems.push(sentence),
    });
  const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:9" };
  expect(await openWith({})).toBeNull();
  expect(await openWith({ ...endpoint, OTEL_SDK_DISABLED: "true" })).toBeNull();
  const neither = { OTEL_TRACES_EXPORTER: "none", OTEL_METRICS_EXPORTER: "none" };
  expect(await openWith({ ...endpoint, ...neither })).toBeNull();
  expect(problems).toEqual([]);
  expect(
    await openWith({ OTEL_TRACES_EXPORTER: "zipkin", OTEL_METRIC_EXPORT_INTERVAL: "soon" }),
  ).toBeNull();
  expect(problems).toEqual([
    "OTEL_TRACES_EXPORTER=zipkin is not supported; use otlp or none",
    "OTEL_METRIC_EXPORT_INTERVAL=soon is not followed; expected milliseconds, at least 100",
  ]);
});

test("the sampler of the variables is followed", async () => {
  await using collector = await startOtlpCollector();
  await using otlp = await open({
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    OTEL_TRACES_SAMPLER: "always_off",
  });
  otlp.tracing.span("a", { kind: "internal" }).end();
  await otlp.flush();
  expect(collector.spans()).toEqual([]);
});

/** A pipeline that processes three messages while the collector is in that state. */
async function runWith(url: string) {
  await using otlp = await open({
    OTEL_EXPORTER_OTLP_ENDPOINT: url,
    OTEL_EXPORTER_OTLP_TIMEOUT: "300",
  });
  await using cloud = await startCloud({ memory: true, setup: { queues: [{ name: "work" }] } });
  const queue = createBrokerQueue(cloud.broker, { queue: "work" });
  const producer = createProducer({
    ...systemPorts,
    target: queue,
    outbox: createMemoryOutbox(systemPorts),
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
  await using running = await startPipeline(spec, settings, { otlp, ...quiet });
  for (const key of ["a", "b", "c"]) await producer.send(event(key));
  await running.idle();
  await otlp.flush();
  const page = await (await fetch(`${running.metricsOrigin}/metrics`)).text();
  await running.drain();
  const lost = page.match(/^tidegate_telemetry_lost_total\{signal="(\w+)"\} ([1-9]\d*)$/gm) ?? [];
  return { handled: handled.toSorted(), lost: lost.length };
}

const EVERYTHING = ["a", "b", "c"].map((key) => event(key).dedupeKey);

test.each(["hangs", "fails"] as const)(
  "a collector that %s costs nothing but a counter",
  async (mood) => {
    await using collector = await startOtlpCollector();
    collector.mood = mood;
    expect(await runWith(collector.url)).toEqual({ handled: EVERYTHING, lost: 2 });
    expect(collector.requests.length).toBeGreaterThan(0);
  },
);

test("a collector that refuses connections costs nothing but a counter", async () => {
  const collector = await startOtlpCollector();
  await collector[Symbol.asyncDispose]();
  expect(await runWith(collector.url)).toEqual({ handled: EVERYTHING, lost: 2 });
});

test("spans that find no space are counted, and memory does not grow", async () => {
  await using collector = await startOtlpCollector();
  collector.mood = "hangs";
  await using otlp = await open({
    OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${collector.url}/v1/traces`,
    OTEL_BSP_MAX_QUEUE_SIZE: "10",
    OTEL_BSP_MAX_EXPORT_BATCH_SIZE: "10",
    OTEL_EXPORTER_OTLP_TIMEOUT: "100",
  });
  const telemetry = createTelemetry({ metrics: [], clock: systemPorts.clock, logs: null, otlp });
  for (let at = 0; at < 1_000; at++) telemetry.span("a", { kind: "internal" }).end();
  const [, lost] = /lost_total\{signal="traces"\} (\d+)/.exec(telemetry.metricsText()) ?? [];
  expect(Number(lost)).toBeGreaterThanOrEqual(980);
});
