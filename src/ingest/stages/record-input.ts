// Record input: what the ledger stores about the event and the message of a record.
//   I1. Values that the pipeline masks are masked here, like all text about the record.
//   I2. No text may keep a record from being claimed: one that is too long for the ledger, or that
//       a store cannot save, is changed so that it can.

import type { Mask } from "../../core/encoding/mask.ts";
import type { SecretValues } from "../../core/encoding/secrets.ts";
import { clampText } from "../../core/encoding/text.ts";
import type { LaneDecision } from "../../core/lane.ts";
import { INPUT_TEXT_CHARS_MAX } from "../../ledger/input-checks.ts";
import type { InputObject, RecordInput } from "../../ports/record.ts";
import type { InFlightDelivery } from "../running/in-flight-delivery.ts";
import type { RecordMask } from "../telemetry/record-mask.ts";
import type { WorkRecord } from "./decode.ts";

/** Where a record stands in event time. */
export interface TimePlace {
  readonly partition: string;
  readonly lane: LaneDecision;
}

export type InputOf = (record: WorkRecord, inFlight: InFlightDelivery) => RecordInput;

export function createInputs(
  ports: { readonly mask: Mask; readonly masked: RecordMask },
  options: {
    readonly queue: string;
    readonly runId: string;
    readonly placeOf: (record: WorkRecord, inFlight: InFlightDelivery) => TimePlace;
  },
): InputOf {
  const { mask, masked } = ports;
  const { queue, runId, placeOf } = options;
  return (record, inFlight) => {
    const { delivery, trace } = inFlight;
    const { content, eventTime } = record;
    const secrets = masked.secretsOf(record);
    const shown = (text: string | null) =>
      text === null ? null : storable(secrets.length === 0 ? text : mask.text(text, secrets)); // I1
    const { partition, lane } = placeOf(record, inFlight);
    return {
      kind: content.kind,
      eventId: shown(eventIdOf(record)),
      object: objectOf(record, masked, secrets),
      source: shown(sourceOf(record, queue)),
      dedupeKey: shown(record.businessKey),
      eventTime,
      sentAt: delivery.sentAt,
      messageId: storable(delivery.messageId),
      traceId: trace.traceId === null ? null : storable(trace.traceId),
      runId,
      partition: shown(partition) ?? "",
      lane,
    };
  };
}

function eventIdOf({ content }: WorkRecord): string | null {
  if (content.kind === "object") return content.event.event_id;
  return content.kind === "message" ? content.envelope.event_id : null;
}

function sourceOf({ content }: WorkRecord, queue: string): string | null {
  if (content.kind === "message") return content.envelope.event_source;
  return content.kind === "object" ? null : queue;
}

function objectOf(
  record: WorkRecord,
  masked: RecordMask,
  secrets: SecretValues,
): InputObject | null {
  const { object, content } = record;
  if (object === null || content.kind !== "object") return null;
  const { bucket, key } = masked.objectOf(record, secrets) ?? object;
  const { version_id: versionId, etag, size, sequencer } = content.event;
  const optional = (text: string | null) => (text === null ? null : storable(text));
  return { bucket, key, versionId: optional(versionId), etag: optional(etag), size, sequencer };
}

/** I2 */
function storable(text: string): string {
  const whole = text.isWellFormed() && !text.includes("\0");
  const clean = whole ? text : text.toWellFormed().replaceAll("\0", "\ufffd");
  return clampText(clean, INPUT_TEXT_CHARS_MAX);
}
