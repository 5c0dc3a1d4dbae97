// Metrics of producers, by name. SQS tells a sender nothing of duplicates: what is counted here is
// what the outbox knows.

export const METRICS = {
  /** Events refused because they break the contract or reuse a dedupe_key. */
  violations: "sqs_fifo.producer.violations",
  /** The same dedupe_key with another payload. */
  collisions: "sqs_fifo.dedupe.collisions_detected",
  /** Events sent again within five minutes, which the outbox kept from the queue. */
  windowHits: "sqs_fifo.dedupe_window_hits",
  /** Sizes of bodies. The digest the seed of this name speaks of has always 32 bytes. */
  bodyBytes: "sqs_fifo.body.length_bytes",
} as const;
