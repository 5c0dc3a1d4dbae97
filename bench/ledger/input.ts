// Input: what a pipeline stores about a record, for records of a benchmark.

import type { EpochMs } from "../../src/core/units.ts";
import type { RecordInput, RecordKey } from "../../src/ports/record.ts";

/** A message, or an object with its version. */
export function inputOf(
  key: RecordKey,
  { at, objectKey = null }: { readonly at: EpochMs; readonly objectKey?: string | null },
): RecordInput {
  const version = { versionId: key.slice(3, 35), etag: key.slice(35), size: 1_024 };
  const isObject = objectKey !== null;
  return {
    kind: isObject ? "object" : "message",
    eventId: key.slice(3, 39),
    object: isObject ? { bucket: "in", key: objectKey, ...version, sequencer: "0055AED6" } : null,
    source: isObject ? null : "bench/orders",
    dedupeKey: isObject ? null : key.slice(3, 20),
    eventTime: at,
    sentAt: at,
    messageId: key.slice(20, 56),
    traceId: key.slice(3, 35),
    runId: "run-1",
    partition: "orders",
    lane: { lane: "live", watermark: at },
  };
}
