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
} as const;

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
} as const satisfies MetricTable;
