// Consumer telemetry: metrics, logs and spans of a running consumer, with production telemetry.

import { SpanStatusCode, trace } from "@opentelemetry/api";
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
} from "@opentelemetry/sdk-trace-base";
import { expect, test } from "vitest";
import { PermanentError } from "../../../src/ingest/spec/handler-errors.ts";
import { CONSUMER_METRICS, STAGES } from "../../../src/ingest/telemetry/metrics.ts";
import { PRODUCER_METRICS } from "../../../src/produce/metrics.ts";
import { createProducer } from "../../../src/produce/producer.ts";
import { createMemoryOutbox } from "../../../src/stores/memory/outbox.ts";
import { createTelemetry, type ProcessTelemetry } from "../../../src/telemetry/create-telemetry.ts";
import { loadTracing } from "../../../src/telemetry/tracing.ts";
import {
  type ConsumerWorld,
  type ConsumerWorldOptions,
  createConsumerWorld,
} from "../../support/consumer-world.ts";
import { event } from "../../support/producer-world.ts";
import { random, turn } from "../../support/stores/real-ports.ts";

/** A consumer that commits one message, gets a duplicate of it, and dead-letters another. */
async function work() {
  const lines: Record<string, unknown>[] = [];
  let telemetry: ProcessTelemetry | undefined;
  await using world = await createConsumerWorld({
    pipeline: { retry: { attempts: 2, baseMs: 10, capMs: 10 } },
    handler({ envelope }, { log }) {
      log("info", "working", { rows: 3 });
      if (envelope.dedupe_key === "bad") throw new Error("no such station");
    },
    telemetry({ clock }) {
      telemetry = createTelemetry({
        metrics: [CONSUMER_METRICS],
        clock,
        logs: { to: (line) => lines.push(JSON.parse(line)) },
      });
      return telemetry;
    },
  });
  const consumer = world.consumer();
  await consumer.start();
  for (const key of ["good", "bad"]) await world.send(key);
  await world.pass(10_000);
  await world.send("good");
  await world.pass(30_000);
  return { lines, text: telemetry?.metricsText() ?? "" };
}

const { lines, text } = await work();

test("every number that a consumer tells is declared, with the labels it comes with", () => {
  expect(lines.filter(({ msg }) => String(msg).startsWith("a number was dropped"))).toEqual([]);
});

test("the numbers of the contract are on /metrics, and they are right", () => {
  const samples = new Map(
    text.split("\n").flatMap((line) => {
      const at = line.lastIndexOf(" ");
      return line.startsWith("#") ? [] : [[line.slice(0, at), Number(line.slice(at + 1))] as const];
    }),
  );
  expect(Object.fromEntries(samples)).toMatchObject({
    'messages_received_total{queue="work"}': 4,
    'tidegate_messages_committed_total{queue="work"}': 1,
    'messages_duplicate_total{queue="work"}': 1,
    'retry_attempts_total{reason="unknown"}': 1,
    'tidegate_dead_letters_total{queue="work",class="unknown"}': 1,
    'dead_letter_count{queue="work-dead"}': 1,
    'processing_latency_seconds_count{stage="handle"}': 3,
    'tidegate_oldest_unsettled_event_seconds{queue="work"}': 0,
    'tidegate_records_in_flight{queue="work"}': 0,
    'tidegate_event_to_applied_seconds_count{queue="work"}': 1,
    'tidegate_queue_messages{queue="work",state="visible"}': 0,
    'tidegate_queue_oldest_message_seconds{queue="work"}': 0,
    'tidegate_event_time_lag_seconds{stream="test"}': 0,
  });
  expect(samples.get('watermark_event_time_seconds{stream="test"}')).toBeGreaterThan(1e9);
  for (const stage of STAGES) {
    const count = samples.get(`processing_latency_seconds_count{stage="${stage}"}`);
    expect(count, stage).toBeGreaterThan(0);
  }
  const requests = [...samples.keys()].filter((name) =>
    name.startsWith("tidegate_sqs_requests_total"),
  );
  expect(requests).toContain('tidegate_sqs_requests_total{action="ReceiveMessage"}');
});

test("log lines about a message have all fields to find it by", () => {
  const about = lines.filter(({ msg }) => /working|dead-lettered/.test(String(msg)));
  expect(about.length).toBeGreaterThanOrEqual(3);
  for (const line of about) {
    expect(line).toMatchObject({
      time: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
      message_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      run_id: "run-1",
      idempotency_key: expect.any(String),
    });
  }
});

const PROCESS = 'messaging_system="aws_sqs",messaging_operation_name="process"';

test("every attempt's duration is recorded, with the class of its error if it failed (Y3)", () => {
  const counts = text
    .split("\n")
    .filter((line) => line.startsWith("messaging_process_duration_seconds_count"));
  const labels = `${PROCESS},messaging_destination_name="work"`;
  expect(counts.toSorted()).toEqual([
    `messaging_process_duration_seconds_count{${labels},error_type="unknown"} 2`,
    `messaging_process_duration_seconds_count{${labels}} 1`,
  ]);
});

/** The spans of a consumer's records, each as its status and error type. */
async function spansOf(
  options: ConsumerWorldOptions,
  work: (world: ConsumerWorld) => Promise<void>,
) {
  const exporter = new InMemorySpanExporter();
  const spanProcessors = [new SimpleSpanProcessor(exporter)];
  trace.setGlobalTracerProvider(new BasicTracerProvider({ spanProcessors }));
  const tracing = await loadTracing("tidegate");
  await using world = await createConsumerWorld({
    ...options,
    telemetry: ({ clock }) =>
      createTelemetry({ metrics: [CONSUMER_METRICS], clock, logs: null, tracing }),
  });
  await work(world);
  trace.disable();
  const spans = exporter.getFinishedSpans().filter(({ name }) => name.startsWith("process"));
  return spans.map(({ status, attributes }) => ({
    failed: status.code === SpanStatusCode.ERROR,
    errorType: attributes["error.type"],
  }));
}

const SUCCESS = { failed: false, errorType: undefined };

test("the span of a retried and then dead-lettered record has the class of its error (Y3)", async () => {
  const spans = await spansOf(
    {
      pipeline: { retry: { attempts: 2, baseMs: 10, capMs: 10 } },
      handler({ envelope }) {
        if (envelope.dedupe_key === "bad") throw new RangeError("no such station");
        if (envelope.dedupe_key === "worse") throw new PermanentError("no", { class: "schema" });
      },
    },
    async (world) => {
      await world.consumer().start();
      for (const key of ["good", "bad", "worse"]) await world.send(key);
      await world.pass(10_000);
    },
  );
  const unknown = { failed: true, errorType: "unknown" };
  const schema = { failed: true, errorType: "schema" };
  expect(spans).toHaveLength(4);
  expect(spans).toEqual(expect.arrayContaining([SUCCESS, unknown, unknown, schema]));
});

test("spans of duplicate, busy and returned records have no error (Y3)", async () => {
  let finish = () => {};
  const finished = new Promise<void>((resolve) => {
    finish = resolve;
  });
  let sawBusy = 0;
  const spans = await spansOf({ handler: () => finished }, async (world) => {
    const consumer = world.consumer();
    await consumer.start();
    await world.send("a");
    await world.pass(2_000);
    await world.send("a");
    await world.pass(2_000);
    sawBusy = consumer.snapshot().returned;
    finish();
    await world.pass(120_000);
    expect(consumer.snapshot()).toMatchObject({ committed: 1, duplicates: 1 });
  });
  expect(sawBusy).toBeGreaterThanOrEqual(1);
  expect(spans.length).toBeGreaterThanOrEqual(3);
  for (const span of spans) expect(span).toEqual(SUCCESS);
});

test("the metric of duplicates counts what the screen counts, not busy deliveries", async () => {
  let telemetry: ProcessTelemetry | undefined;
  let finish = () => {};
  const finished = new Promise<void>((resolve) => {
    finish = resolve;
  });
  await using world = await createConsumerWorld({
    handler: () => finished,
    telemetry: ({ clock }) => {
      telemetry = createTelemetry({ metrics: [CONSUMER_METRICS], clock, logs: null });
      return telemetry;
    },
  });
  const consumer = world.consumer();
  await consumer.start();
  await world.send("a");
  await world.pass(2_000);
  await world.send("a");
  await world.pass(2_000);
  expect(consumer.snapshot().returned).toBeGreaterThan(0);
  finish();
  await world.pass(120_000);
  const { duplicates } = consumer.snapshot();
  expect(duplicates).toBe(1);
  const counted = `messages_duplicate_total{queue="work"} ${duplicates}\n`;
  expect(telemetry?.metricsText()).toContain(counted);
});

test("the span of a record whose lease was lost has the error type lease-lost (Y3)", async () => {
  const spans = await spansOf(
    {
      handler: (_event, { signal }) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener("abort", () => reject(signal.reason));
        }),
      wrapQueue: (queue) => ({
        ...queue,
        changeVisibility: async (changes) =>
          changes.map(() => ({ kind: "gone", reason: "expired" })),
      }),
    },
    async (world) => {
      await world.consumer().start();
      await world.send("a");
      await world.pass(45_000);
    },
  );
  expect(spans[0]).toEqual({ failed: true, errorType: "lease-lost" });
});

test("a trace goes from the producer's span to the consumer's, and into its lines", async () => {
  const exporter = new InMemorySpanExporter();
  const spanProcessors = [new SimpleSpanProcessor(exporter)];
  trace.setGlobalTracerProvider(new BasicTracerProvider({ spanProcessors }));
  const lines: Record<string, unknown>[] = [];
  const tracing = await loadTracing("tidegate");
  const logs = { to: (line: string) => lines.push(JSON.parse(line)) };
  await using world = await createConsumerWorld({
    handler: (_event, { log }) => log("info", "working"),
    telemetry: ({ clock }) =>
      createTelemetry({ metrics: [CONSUMER_METRICS], clock, logs, tracing, onMisuse: "assert" }),
  });
  const { clock } = world.cloud;
  const telemetry = createTelemetry({ metrics: [PRODUCER_METRICS], clock, logs: null, tracing });
  const outbox = createMemoryOutbox({ clock });
  const ports = { target: world.queue, outbox, clock, random, turn, telemetry };
  await createProducer(ports).send(event("a"));
  await world.consumer().start();
  await world.pass(2_000);
  trace.disable();
  const spans = exporter.getFinishedSpans();
  const sent = spans.find(({ name }) => name === "create work");
  const processed = spans.find(({ name }) => name === "process work");
  expect(sent?.parentSpanContext).toBeUndefined();
  expect(processed?.parentSpanContext).toMatchObject({
    traceId: sent?.spanContext().traceId,
    spanId: sent?.spanContext().spanId,
  });
  const line = lines.find(({ msg }) => msg === "working");
  expect(line?.trace_id).toBe(sent?.spanContext().traceId);
});
