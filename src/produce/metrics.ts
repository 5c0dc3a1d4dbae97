// Metrics of producers. SQS does not report duplicates to senders, so these count what the outbox
// finds.

import type { MetricTable } from "../ports/telemetry.ts";

/** Metric names. */
export const METRICS = {
  /** Events rejected because they break the contract or reuse a dedupe_key. */
  violations: "sqs_fifo.producer.violations",
  /** The same dedupe_key with another payload. */
  collisions: "sqs_fifo.dedupe.collisions_detected",
  /** Events repeated within five minutes, which the outbox did not send again. */
  windowHits: "sqs_fifo.dedupe_window_hits",
  /** Body sizes: the hashed bytes. The hash itself always has 32 bytes. */
  bodyBytes: "sqs_fifo.body_hash.length_bytes",
  /** By OpenTelemetry's conventions: one request to the target. */
  operationDuration: "messaging.client.operation.duration",
  /** By OpenTelemetry's conventions: messages in requests, whether or not they arrived. */
  sentMessages: "messaging.client.sent.messages",
} as const;

/** Labels of OpenTelemetry's conventions. */
const SEND_LABELS = [
  "messaging_system",
  "messaging_operation_name",
  "messaging_destination_name",
  "error_type",
];

/** The buckets of OpenTelemetry's semantic conventions. */
const OPERATION_BUCKETS = [
  0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10,
];

const BODY_BYTES_BUCKETS = [
  256, 1_024, 4_096, 16_384, 65_536, 131_072, 262_144, 524_288, 1_048_576,
];

/** The metrics of producers, for `createTelemetry`. */
export const PRODUCER_METRICS = {
  violations: {
    name: METRICS.violations,
    kind: "counter",
    help: "Events refused because they break the contract or reuse a dedupe_key, by field.",
    labels: ["field"],
  },
  collisions: {
    name: METRICS.collisions,
    kind: "counter",
    help: "Events refused because their dedupe_key was used before with another payload.",
    labels: [],
  },
  windowHits: {
    name: METRICS.windowHits,
    kind: "counter",
    help: "Events sent again within five minutes, which the outbox kept from the queue.",
    labels: [],
  },
  bodyBytes: {
    name: METRICS.bodyBytes,
    kind: "histogram",
    help: "Sizes of the bodies sent, which are what SQS hashes to deduplicate by content.",
    labels: [],
    buckets: BODY_BYTES_BUCKETS,
  },
  operationDuration: {
    name: METRICS.operationDuration,
    kind: "histogram",
    help: "Duration of one request to the target, by OpenTelemetry's conventions.",
    labels: SEND_LABELS,
    buckets: OPERATION_BUCKETS,
    unit: "seconds",
  },
  sentMessages: {
    name: METRICS.sentMessages,
    kind: "counter",
    help: "Messages in requests to the target, by OpenTelemetry's conventions; error_type is set if the request failed.",
    labels: SEND_LABELS,
  },
} as const satisfies MetricTable;
