// Top view: the numbers of `tidegate top`, from one or two readings of /metrics.
//   V1. A rate needs two readings of the same process. Without them, or after a restart, it is
//       null.
//   V2. p95 is that of the time between the readings, or since the start if there is only one. It
//       is the upper bound of a bucket, so it is never too low.

import type { MetricSample, MetricSamples } from "./metrics-text.ts";

/** A page of /metrics, and when it was read. */
export interface Reading {
  readonly samples: MetricSamples;
  /** Of a steady clock, in milliseconds. */
  readonly at: number;
}

/** One queue; null where a number is not known. */
export interface TopRow {
  readonly queue: string;
  readonly receivedPerSecond: number | null;
  readonly committedPerSecond: number | null;
  readonly duplicateRatio: number | null;
  readonly inFlight: number | null;
  readonly queueVisible: number | null;
  readonly queueInFlight: number | null;
  readonly queueOldestSeconds: number | null;
  readonly oldestUnsettledSeconds: number | null;
  readonly appliedP95Seconds: number | null;
  readonly deadLetters: number | null;
  readonly breakerOpen: boolean;
  readonly requestsPerMillion: number | null;
  readonly usdPerMillion: number | null;
}

export interface TopView {
  readonly queues: readonly TopRow[];
  /** Lag in event time, by stream. */
  readonly lagSeconds: Readonly<Record<string, number>>;
  /** Retries since the start, by error class. */
  readonly retries: Readonly<Record<string, number>>;
}

export function topView(now: Reading, before: Reading | null): TopView {
  const named = [...(now.samples.get("tidegate_records_in_flight") ?? [])];
  const received = now.samples.get("messages_received_total") ?? [];
  const queues = new Set([...named, ...received].map(({ labels }) => labels.queue ?? ""));
  return {
    queues: [...queues].toSorted().map((queue) => rowOf(queue, now, before)),
    lagSeconds: byLabel(now, "tidegate_event_time_lag_seconds", "stream"),
    retries: byLabel(now, "retry_attempts_total", "reason"),
  };
}

function rowOf(queue: string, now: Reading, before: Reading | null): TopRow {
  const read = (name: string, labels = {}) => readingOf(now, name, { queue, ...labels });
  return {
    queue,
    receivedPerSecond: rateOf("messages_received_total", queue, now, before),
    committedPerSecond: rateOf("tidegate_messages_committed_total", queue, now, before),
    duplicateRatio: read("tidegate_duplicate_ratio"),
    inFlight: read("tidegate_records_in_flight"),
    queueVisible: read("tidegate_queue_messages", { state: "visible" }),
    queueInFlight: read("tidegate_queue_messages", { state: "in_flight" }),
    queueOldestSeconds: read("tidegate_queue_oldest_message_seconds"),
    oldestUnsettledSeconds: read("tidegate_oldest_unsettled_event_seconds"),
    appliedP95Seconds: p95Of(queue, now, before),
    deadLetters: sumOf(now, "dead_letter_count"),
    breakerOpen: read("tidegate_sink_breaker_open") === 1,
    requestsPerMillion: read("tidegate_requests_per_million_events"),
    usdPerMillion: read("tidegate_cost_per_million_events_usd"),
  };
}

function find({ samples }: Reading, name: string, labels: Readonly<Record<string, string>>) {
  const matches = ({ labels: own }: MetricSample) =>
    Object.entries(labels).every(([label, value]) => own[label] === value);
  return (samples.get(name) ?? []).filter(matches);
}

function readingOf(reading: Reading, name: string, labels: Readonly<Record<string, string>>) {
  return find(reading, name, labels)[0]?.value ?? null;
}

/** A queue has one dead-letter queue, whose name the page does not connect with it. */
function sumOf(reading: Reading, name: string): number | null {
  const all = find(reading, name, {});
  return all.length === 0 ? null : all.reduce((sum, { value }) => sum + value, 0);
}

/** V1 */
function rateOf(name: string, queue: string, now: Reading, before: Reading | null): number | null {
  if (before === null || now.at <= before.at) return null;
  const growth = (readingOf(now, name, { queue }) ?? 0) - (readingOf(before, name, { queue }) ?? 0);
  return growth < 0 ? null : (growth / (now.at - before.at)) * 1_000;
}

/** V2 */
function p95Of(queue: string, now: Reading, before: Reading | null): number | null {
  const name = "tidegate_event_to_applied_seconds_bucket";
  const buckets = find(now, name, { queue }).map(({ labels, value }) => {
    const { le = "" } = labels;
    const earlier = before === null ? 0 : (readingOf(before, name, { queue, le }) ?? 0);
    return { bound: le === "+Inf" ? Number.POSITIVE_INFINITY : Number(le), count: value - earlier };
  });
  const total = buckets.at(-1)?.count ?? 0;
  if (total <= 0) return null;
  return buckets.find(({ count }) => count >= 0.95 * total)?.bound ?? null;
}

function byLabel(reading: Reading, name: string, label: string): Record<string, number> {
  return Object.fromEntries(
    find(reading, name, {}).map(({ labels, value }) => [labels[label] ?? "", value]),
  );
}
