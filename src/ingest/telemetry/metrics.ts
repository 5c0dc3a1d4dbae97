// Consumer metrics: the table of all metrics that a consumer reports.
//   N1. Label values come from small, fixed sets: queues, streams, stages, error classes, actions.
//       Never a key, an id or a message, because each value creates a time series.
//   N2. A published name keeps its meaning and its labels. A test compares
//       docs/reference/metrics.md with this table.
//   N3. "queue" is the queue that the pipeline reads. Only the depth of the dead-letter queue has
//       that queue's name.

import type { MetricTable } from "../../ports/telemetry.ts";

/** Values of the label `stage` of `processing_latency_seconds`. */
export const STAGES = [
  "receive",
  "decode",
  "claim",
  "handle",
  "commit",
  "settle",
  /** From receipt to settlement. */
  "total",
] as const;
export type StageName = (typeof STAGES)[number];

/** From a commit in memory to a handler's default timeout of fifteen minutes. */
const LATENCY_BUCKETS = [
  ...[0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5],
  ...[1, 2.5, 5, 10, 30, 60, 300, 900],
];

/** The buckets of OpenTelemetry's semantic conventions. */
const MESSAGING_BUCKETS = [
  0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10,
];

const MESSAGING_LABELS = [
  "messaging_system",
  "messaging_operation_name",
  "messaging_destination_name",
];

/** From a second to a day: how long an event takes until its effects are in the sink. */
const APPLIED_BUCKETS = [
  ...[0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600],
  ...[1_800, 3_600, 14_400, 86_400],
];

export const CONSUMER_METRICS = {
  received: {
    name: "messages_received_total",
    kind: "counter",
    help: "Deliveries received, including duplicates and redeliveries.",
    labels: ["queue"],
  },
  duplicates: {
    name: "messages_duplicate_total",
    kind: "counter",
    help: "Records not handled because they were committed or dead-lettered before, or handled beside another process that committed first.",
    labels: ["queue"],
  },
  stale: {
    name: "tidegate_messages_stale_total",
    kind: "counter",
    help: "Records not handled because a newer event of the same object is committed.",
    labels: ["queue"],
  },
  ignored: {
    name: "tidegate_records_ignored_total",
    kind: "counter",
    help: "Records acknowledged without handling: S3 test events, removed objects, objects outside the source.",
    labels: ["queue", "reason"],
  },
  committed: {
    name: "tidegate_messages_committed_total",
    kind: "counter",
    help: "Records whose effects were committed.",
    labels: ["queue"],
  },
  quarantined: {
    name: "tidegate_rows_quarantined_total",
    kind: "counter",
    help: "Rows that their schema rejected, kept in quarantine while the other rows were committed.",
    labels: ["queue"],
  },
  returned: {
    name: "tidegate_messages_returned_total",
    kind: "counter",
    help: "Records returned to the queue without counting as failed: busy, outage, draining or out of turn.",
    labels: ["queue"],
  },
  latency: {
    name: "processing_latency_seconds",
    kind: "histogram",
    help: "Time per stage; total is from receipt to settlement.",
    labels: ["stage"],
    buckets: LATENCY_BUCKETS,
  },
  retries: {
    name: "retry_attempts_total",
    kind: "counter",
    help: "Failed attempts that will be retried, by error class.",
    labels: ["reason"],
  },
  deadLetters: {
    name: "tidegate_dead_letters_total",
    kind: "counter",
    help: "Records dead-lettered by this consumer, by error class.",
    labels: ["queue", "class"],
  },
  deadLetterDepth: {
    name: "dead_letter_count",
    kind: "gauge",
    help: "Messages in the dead-letter queue now, whether this consumer or SQS moved them.",
    labels: ["queue"],
  },
  groupsHalted: {
    name: "tidegate_groups_halted",
    kind: "gauge",
    help: "Groups of a FIFO queue that wait behind a dead-lettered record, from the ledger.",
    labels: ["queue"],
  },
  watermark: {
    name: "watermark_event_time_seconds",
    kind: "gauge",
    help: "The watermark, in seconds since 1970; records with an earlier event time are late.",
    labels: ["stream"],
  },
  late: {
    name: "tidegate_late_events_total",
    kind: "counter",
    help: "Records whose event time was before the watermark when their lane was decided.",
    labels: ["stream", "lane"],
  },
  lateRouted: {
    name: "tidegate_late_routed_total",
    kind: "counter",
    help: "Records that were too late and not handled: kept in the ledger, or sent to the late queue.",
    labels: ["stream", "to"],
  },
  completeUpTo: {
    name: "tidegate_complete_up_to_seconds",
    kind: "gauge",
    help: "Event time, in seconds since 1970, before which every record that arrived is settled, as last known.",
    labels: ["stream"],
  },
  auditObjects: {
    name: "tidegate_audit_objects",
    kind: "gauge",
    help: "Object versions in the window of the latest audit, by status.",
    labels: ["pipeline", "status"],
  },
  auditEnded: {
    name: "tidegate_audit_ended_seconds",
    kind: "gauge",
    help: "When the latest audit ended, in seconds since 1970.",
    labels: ["pipeline"],
  },
  auditsFailed: {
    name: "tidegate_audits_failed_total",
    kind: "counter",
    help: "Scheduled audits that could not read bucket, ledger or sink.",
    labels: ["pipeline"],
  },
  heldBy: {
    name: "watermark_held_by",
    kind: "gauge",
    help: "1 for the partition that holds the watermark back; 0 for those that did before.",
    labels: ["stream", "partition"],
  },
  future: {
    name: "tidegate_future_events_total",
    kind: "counter",
    help: "Records with an event time over five minutes ahead; they do not move the watermark.",
    labels: ["stream"],
  },
  oldestUnsettled: {
    name: "tidegate_oldest_unsettled_event_seconds",
    kind: "gauge",
    help: "Age of the oldest received or retried event that is not settled; 0 if there is none.",
    labels: ["queue"],
  },
  leasesLost: {
    name: "tidegate_leases_lost_total",
    kind: "counter",
    help: "Leases that ended before the work did; work under a lost lease is not committed.",
    labels: ["queue"],
  },
  breakerOpen: {
    name: "tidegate_sink_breaker_open",
    kind: "gauge",
    help: "1 while the consumer does not receive because the sink or the ledger is down, otherwise 0.",
    labels: ["queue"],
  },
  paused: {
    name: "tidegate_pipeline_paused",
    kind: "gauge",
    help: "1 while an operator has paused the pipeline, otherwise 0.",
    labels: ["queue"],
  },
  inFlight: {
    name: "tidegate_records_in_flight",
    kind: "gauge",
    help: "Records that this process is handling now.",
    labels: ["queue"],
  },
  sqsRequests: {
    name: "tidegate_sqs_requests_total",
    kind: "counter",
    help: "Requests to SQS, by action.",
    labels: ["action"],
  },
  s3Requests: {
    name: "tidegate_s3_requests_total",
    kind: "counter",
    help: "Requests to S3 for the objects of records, by action.",
    labels: ["action"],
  },
  queueMessages: {
    name: "tidegate_queue_messages",
    kind: "gauge",
    help: "Messages in the queue, as the queue reports them: visible, in_flight or delayed.",
    labels: ["queue", "state"],
  },
  queueOldest: {
    name: "tidegate_queue_oldest_message_seconds",
    kind: "gauge",
    help: "Age of the oldest message in the queue; on SQS, of the oldest message in the newest receive.",
    labels: ["queue"],
  },
  applied: {
    name: "tidegate_event_to_applied_seconds",
    kind: "histogram",
    help: "Time from the event (S3's event time, or when the message was sent) to its commit.",
    labels: ["queue"],
    buckets: APPLIED_BUCKETS,
  },
  eventTimeLag: {
    name: "tidegate_event_time_lag_seconds",
    kind: "gauge",
    help: "How far the event time of the last committed record is behind the clock; 0 when the queue is drained.",
    labels: ["stream"],
  },
  duplicateRatio: {
    name: "tidegate_duplicate_ratio",
    kind: "gauge",
    help: "Share of the deliveries of the last five minutes that were duplicates.",
    labels: ["queue"],
  },
  requestsPerMillion: {
    name: "tidegate_requests_per_million_events",
    kind: "gauge",
    help: "Requests to SQS and S3 per million committed records, since the start.",
    labels: ["queue"],
  },
  costPerMillion: {
    name: "tidegate_cost_per_million_events_usd",
    kind: "gauge",
    help: "Estimated price of the requests to SQS and S3 per million committed records, in USD.",
    labels: ["queue"],
  },
  messagingProcess: {
    name: "messaging.process.duration",
    kind: "histogram",
    help: "Duration of one attempt to process a record, by OpenTelemetry's conventions.",
    labels: [...MESSAGING_LABELS, "error_type"],
    buckets: MESSAGING_BUCKETS,
    unit: "seconds",
  },
  messagingConsumed: {
    name: "messaging.client.consumed.messages",
    kind: "counter",
    help: "Messages delivered, by OpenTelemetry's conventions.",
    labels: MESSAGING_LABELS,
  },
  ledgerPurged: {
    name: "tidegate_ledger_purged_total",
    kind: "counter",
    help: "Expired rows that this process deleted from the ledger.",
    labels: [],
  },
  outboxPurged: {
    name: "tidegate_outbox_purged_total",
    kind: "counter",
    help: "Expired rows that this process deleted from an outbox in the ledger's store.",
    labels: [],
  },
  clockAhead: {
    name: "tidegate_ledger_clock_ahead_seconds",
    kind: "gauge",
    help: "How far the clock is ahead of the ledger while nothing expires by it; otherwise 0.",
    labels: [],
  },
  lineageLost: {
    name: "tidegate_lineage_events_lost_total",
    kind: "counter",
    help: "OpenLineage events that could not be sent.",
    labels: [],
  },
  manifestsFailed: {
    name: "tidegate_manifests_failed_total",
    kind: "counter",
    help: "Attempts to write a run manifest that failed. The next start writes what is missing.",
    labels: [],
  },
} as const satisfies MetricTable;

/** OpenTelemetry's name for SQS; the embedded queue uses it, too. */
export const MESSAGING_SYSTEM = "aws_sqs";
