// Record log fields: the fields that every log line about a record has, for searching.
//   L1. The object's key and the business key are masked like all text about the record, because
//       they may contain secrets. The idempotency key, a digest, still identifies the event.

import type { SecretValues } from "../../core/encoding/secrets.ts";
import type { LogFields } from "../../ports/telemetry.ts";
import type { InFlightDelivery } from "../running/in-flight-delivery.ts";
import type { WorkRecord } from "../stages/decode.ts";
import type { RecordMask } from "./record-mask.ts";

export interface LogMask {
  readonly masked: RecordMask;
  /** Secrets that may be in one of its keys. Default: those of the record itself. */
  readonly secrets?: SecretValues;
}

/** A short name of the record for people: the object's URL, or the key of a message (L1). */
export function recordNameOf(record: WorkRecord, masked: RecordMask): string {
  const secrets = masked.secretsOf(record);
  const object = masked.objectOf(record, secrets);
  if (object !== null) return `s3://${object.bucket}/${object.key}`;
  return masked.businessKeyOf(record, secrets) ?? record.identity;
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
    business_key: masked.businessKeyOf(record, secrets), // L1
    run_id: runId,
    idempotency_key: record.identity,
    trace_id: inFlight.trace.traceId,
  };
}
