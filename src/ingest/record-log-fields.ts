// Record log fields: what every log line about a record is found by.

import type { LogFields } from "../ports/telemetry.ts";
import type { WorkRecord } from "./decode.ts";
import type { Hold } from "./hold.ts";

export function logFieldsOf(record: WorkRecord, hold: Hold, runId: string): LogFields {
  return {
    message_id: hold.delivery.messageId,
    object_key: record.object?.key ?? null,
    run_id: runId,
    idempotency_key: record.identity,
    trace_id: hold.trace.traceId,
  };
}
