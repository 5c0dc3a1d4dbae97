import { expect, test } from "vitest";
import { ManualClock } from "../../../test/support/manual-clock.ts";
import { durationMs, epochMs } from "../../core/units.ts";
import type { QueueFacts } from "../../ports/queue-receiver.ts";
import { createTelemetry } from "../../telemetry/create-telemetry.ts";
import { FlowGauges } from "./flow-gauges.ts";
import { CONSUMER_METRICS as METRICS } from "./metrics.ts";
import { NO_COUNTS } from "./outcome-counts.ts";

function setUp(fifo = false) {
  const clock = new ManualClock(1_000_000);
  const telemetry = createTelemetry({
    metrics: [METRICS],
    clock,
    logs: null,
    onMisuse: "assert",
  });
  const flow = new FlowGauges({ clock, telemetry }, { queue: "q", fifo, stream: "s" });
  const read = (name: string) =>
    Number(new RegExp(`^${name}(?:\\{.*\\})? (.+)$`, "m").exec(telemetry.metricsText())?.[1]);
  const facts = { visible: 0, hidden: 0, delayed: 0 } as QueueFacts;
  return { clock, flow, read, telemetry, facts };
}

test("the cost is that of the requests per committed record (F4)", () => {
  for (const [fifo, usd] of [
    [false, (3 * 0.4 + 2 * 0.4) / 4],
    [true, (3 * 0.5 + 2 * 0.4) / 4],
  ] as const) {
    const { flow, read } = setUp(fifo);
    flow.telemetry.count(METRICS.sqsRequests.name, 3, { action: "ReceiveMessage" });
    flow.telemetry.count(METRICS.s3Requests.name, 2, { action: "GetObject" });
    flow.report({ ...NO_COUNTS, committed: 4 }, false);
    expect(read("tidegate_requests_per_million_events")).toBe(1_250_000);
    expect(read("tidegate_cost_per_million_events_usd")).toBeCloseTo(usd, 10);
    expect(read("tidegate_sqs_requests_total")).toBe(3);
  }
});

test("the duplicate ratio covers the last five minutes, not the whole life", () => {
  const { flow, read } = setUp();
  flow.report(NO_COUNTS, false);
  flow.report({ ...NO_COUNTS, received: 10, duplicates: 5 }, false);
  expect(read("tidegate_duplicate_ratio")).toBe(0.5);
  for (let at = 0; at < 60; at++) flow.report({ ...NO_COUNTS, received: 20, duplicates: 5 }, false);
  expect(read("tidegate_duplicate_ratio")).toBe(0);
});

test("the lag is that of the last committed record, and 0 when the queue is drained (F3)", () => {
  const { clock, flow, read } = setUp();
  clock.advance(durationMs(90_000));
  flow.committed(epochMs(1_000_000));
  flow.report(NO_COUNTS, false);
  expect(read("tidegate_event_time_lag_seconds")).toBe(90);
  flow.report(NO_COUNTS, true);
  expect(read("tidegate_event_time_lag_seconds")).toBe(0);
});

test("the age is what the queue says, or else that of the oldest message received (F2)", () => {
  const { clock, flow, read, telemetry, facts } = setUp();
  clock.advance(durationMs(60_000));
  flow.reportQueue({ ...facts, visible: 3, hidden: 2, oldestSentAt: epochMs(1_000_000) });
  expect(read("tidegate_queue_oldest_message_seconds")).toBe(60);
  expect(telemetry.metricsText()).toContain(
    'tidegate_queue_messages{queue="q",state="in_flight"} 2\n',
  );
  flow.received([epochMs(1_050_000), epochMs(1_030_000)]);
  flow.reportQueue({ ...facts, visible: 1 });
  expect(read("tidegate_queue_oldest_message_seconds")).toBe(30);
  flow.reportQueue(facts);
  expect(read("tidegate_queue_oldest_message_seconds")).toBe(0);
});
