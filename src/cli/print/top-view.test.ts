import { expect, test } from "vitest";
import { readMetricsText } from "./metrics-text.ts";
import { topView } from "./top-view.ts";

const page = (received: number, slow: number, fast: number) => `# HELP x y
messages_received_total{queue="q \\"1\\""} ${received}
tidegate_records_in_flight{queue="q \\"1\\""} 3
tidegate_queue_messages{queue="q \\"1\\"",state="visible"} 40
tidegate_event_to_applied_seconds_bucket{queue="q \\"1\\"",le="1"} ${fast}
tidegate_event_to_applied_seconds_bucket{queue="q \\"1\\"",le="60"} ${fast + slow}
tidegate_event_to_applied_seconds_bucket{queue="q \\"1\\"",le="+Inf"} ${fast + slow}
tidegate_event_time_lag_seconds{stream="s"} 12
tidegate_sink_breaker_open{queue="q \\"1\\""} 1
not a sample at all
`;
const reading = (text: string, at: number) => ({ samples: readMetricsText(text), at });

test("rates and p95 are those between two readings (V1, V2)", () => {
  const before = reading(page(100, 50, 50), 0);
  const now = reading(page(150, 50, 150), 2_000);
  const view = topView(now, before);
  expect(view.queues).toMatchObject([
    {
      queue: 'q "1"',
      receivedPerSecond: 25,
      appliedP95Seconds: 1,
      inFlight: 3,
      queueVisible: 40,
      breakerOpen: true,
      usdPerMillion: null,
    },
  ]);
  expect(view.lagSeconds).toEqual({ s: 12 });
});

test("a first reading, and one after a restart, have no rates (V1)", () => {
  const now = reading(page(10, 1, 1), 2_000);
  expect(topView(now, null).queues[0]).toMatchObject({
    receivedPerSecond: null,
    appliedP95Seconds: 60,
  });
  expect(topView(now, reading(page(100, 0, 0), 0)).queues[0]?.receivedPerSecond).toBeNull();
});
