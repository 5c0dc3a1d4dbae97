// Metrics of consumers: the one table of what they count, measure and tell the level of.
//   N1. Values of labels come from small, known sets: queues, streams, stages, classes of errors,
//       actions. Never a key, an id or a message, each of which would be a series of its own.
//   N2. A name, once published, keeps its meaning and its labels; docs/reference/metrics.md is
//       checked against this table.
//   N3. "queue" is the name of the queue that the pipeline reads; only where the level of the
//       dead-letter queue is told, it is that queue's.

import type { MetricTable } from "../../ports/telemetry.ts";

/** The steps a message takes, as `processing_latency_seconds` tells them apart. */
export const STAGES = [
  "receive",
  "decode",
  "claim",
  "handle",
  "commit",
  "settle",
  /** From the receipt of a delivery until it is settled. */
  "total",
] as const;
export type StageName = (typeof STAGES)[number];

/** From a commit in memory to the fifteen minutes that a handler may take. */
const LATENCY_BUCKETS = [
  ...[0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5],
  ...[1, 2.5, 5, 10, 30, 60, 300, 900],
];

/** As the semantic conventions of OpenTelemetry ask for. */
const MESSAGING_BUCKETS = [
  0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10,
];

const MESSAGING_LABELS = [
  "messaging_system",
  "messaging_operation_name",
  "messaging_destination_name",
];

export const CONSUMER_METRICS = {
  received: {
    name: "messages_received_total",
    kind: "counter",
    help: "Deliveries received, duplicates and redeliveries included.",
    labels: ["queue"],
  },
  duplicates: {
    name: "messages_duplicate_total",
    kind: "counter",
    help: "Records that had been committed or were being worked on, and so were not handled.",
    labels: ["queue"],
  },
  stale: {
    name: "tidegate_messages_stale_total",
    kind: "counter",
    help: "Records that told of an older state than the committed one, and so were not handled.",
    labels: ["queue"],
  },
  ignored: {
    name: "tidegate_records_ignored_total",
    kind: "counter",
    help: "Records acknowledged unhandled: S3's test event, or an object of elsewhere.",
    labels: ["queue", "reason"],
  },
  committed: {
    name: "tidegate_messages_committed_total",
    kind: "counter",
    help: "Records whose effects were committed.",
    labels: ["queue"],
  },
  released: {
    name: "tidegate_messages_returned_total",
    kind: "counter",
    help: "Deliveries put back without a failure of their own: busy, draining or out of turn.",
    labels: ["queue"],
  },
  latency: {
    name: "processing_latency_seconds",
    kind: "histogram",
    help: "Time that each stage took; total is from receipt to settlement.",
    labels: ["stage"],
    buckets: LATENCY_BUCKETS,
  },
  retries: {
    name: "retry_attempts_total",
    kind: "counter",
    help: "Failed attempts that will be tried again, by class of error.",
    labels: ["reason"],
  },
  deadLetters: {
    name: "tidegate_dead_letters_total",
    kind: "counter",
    help: "Records given up on and written to the dead-letter queue, by class of error.",
    labels: ["queue", "class"],
  },
  deadLetterDepth: {
    name: "dead_letter_count",
    kind: "gauge",
    help: "Messages that lie in the dead-letter queue now, however they came there.",
    labels: ["queue"],
  },
  watermark: {
    name: "watermark_event_time_seconds",
    kind: "gauge",
    help: "The watermark: records with an event time before it are late. Seconds since 1970.",
    labels: ["stream"],
  },
  late: {
    name: "tidegate_late_events_total",
    kind: "counter",
    help: "Records whose event time lay before the watermark when they came.",
    labels: ["stream"],
  },
  future: {
    name: "tidegate_future_events_total",
    kind: "counter",
    help: "Records whose event time lay more than five minutes ahead; they move no watermark.",
    labels: ["stream"],
  },
  oldestUnsettled: {
    name: "tidegate_oldest_unsettled_event_seconds",
    kind: "gauge",
    help: "Age of the oldest event that was received or retried and is not settled; 0 if none.",
    labels: ["queue"],
  },
  leasesLost: {
    name: "tidegate_leases_lost_total",
    kind: "counter",
    help: "Leases that ended before the work did; what was done under them was not committed.",
    labels: ["queue"],
  },
  breakerOpen: {
    name: "tidegate_sink_breaker_open",
    kind: "gauge",
    help: "1 while nothing is received because the sink is down, else 0.",
    labels: ["queue"],
  },
  inFlight: {
    name: "tidegate_records_in_flight",
    kind: "gauge",
    help: "Records received and not settled by this process.",
    labels: ["queue"],
  },
  sqsRequests: {
    name: "tidegate_sqs_requests_total",
    kind: "counter",
    help: "Requests made to SQS, by action.",
    labels: ["action"],
  },
  messagingProcess: {
    name: "messaging.process.duration",
    kind: "histogram",
    help: "Time that handling one message took, by the semantic conventions of OpenTelemetry.",
    labels: [...MESSAGING_LABELS, "error_type"],
    buckets: MESSAGING_BUCKETS,
    unit: "seconds",
  },
  messagingConsumed: {
    name: "messaging.client.consumed.messages",
    kind: "counter",
    help: "Messages delivered, by the semantic conventions of OpenTelemetry.",
    labels: MESSAGING_LABELS,
  },
  ledgerPurged: {
    name: "tidegate_ledger_purged_total",
    kind: "counter",
    help: "Expired rows that this process deleted from the ledger.",
    labels: [],
  },
} as const satisfies MetricTable;

/** What OpenTelemetry calls SQS, embedded or Amazon's: a client cannot tell the two apart. */
export const MESSAGING_SYSTEM = "aws_sqs";
