// Record log fields: what every log line about a record is found by.
//   L1. The object's key is masked as all text about the record is: it may be made of what nobody
//       may see. The idempotency key, a digest, names the event all the same.

import type { LogFields } from "../../ports/telemetry.ts";
import type { InFlightDelivery } from "../running/in-flight-delivery.ts";
import type { WorkRecord } from "../stages/decode.ts";
import type { RecordMask } from "./record-mask.ts";

export interface LogMask {
  readonly masked: RecordMask;
  /** What was read of the record and may be in its object's key; without it, what it came with. */
  readonly secrets?: readonly string[];
}

export function logFieldsOf(
  record: WorkRecord,
  inFlight: InFlightDelivery,
  runId: string,
  { masked, secrets = masked.secretsOf(record) }: LogMask,
): LogFields {
  return {
    message_id: inFlight.delivery.messageId,
    object_key: masked.objectOf(record, secrets)?.key ?? null, // L1
    run_id: runId,
    idempotency_key: record.identity,
    trace_id: inFlight.trace.traceId,
  };
}
