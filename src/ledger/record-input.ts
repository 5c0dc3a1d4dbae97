// Record input: which fields of an input stay and which follow the latest attempt, and the columns
// in which every store saves it.
//   I1. The first attempt decides what the event is: its object, source, key, event time, partition
//       and lane. Later attempts of the record never change them, so lists stay in order and a lane
//       is decided once.
//   I2. Message, time of sending, trace and run are those of the latest attempt.
//   I3. A committed record that is processed again is a new event of its object (S5 of
//       record-transitions.ts), so its input is new.
//   I4. Values that lists are ordered by have their own columns; the rest is one JSON array.

import { present } from "../core/assert.ts";
import { epochMs } from "../core/units.ts";
import type { InputObject, LaneDecision, RecordInput, RecordState } from "../ports/record.ts";

/** The input to save for an attempt that starts from `from`. */
export function attemptInput(
  from: RecordState,
  stored: RecordInput | null,
  given: RecordInput,
): RecordInput {
  if (stored === null || from.kind === "absent" || from.kind === "committed") return given; // I3
  const { sentAt, messageId, traceId, runId } = given; // I2
  return { ...stored, sentAt, messageId, traceId, runId }; // I1
}

export interface InputColumns {
  readonly eventTime: number;
  /** Null if the record has no object. */
  readonly bucket: string | null;
  readonly objectKey: string | null;
  /** The other fields, as JSON (I4). */
  readonly input: string;
}

export function toInputColumns(given: RecordInput): InputColumns {
  const { kind, eventId, object, source, dedupeKey, eventTime, sentAt, messageId } = given;
  const { traceId, runId, partition } = given;
  const { lane, watermark } = given.lane;
  const version: Version | null =
    object === null ? null : [object.versionId, object.etag, object.size, object.sequencer];
  const fields: InputArray = [
    kind,
    eventId,
    version,
    source,
    dedupeKey,
    partition,
    lane,
    watermark,
    sentAt,
    messageId,
    traceId,
    runId,
  ];
  const input = JSON.stringify(fields);
  return { eventTime, bucket: object?.bucket ?? null, objectKey: object?.key ?? null, input };
}

type Version = [
  versionId: InputObject["versionId"],
  etag: InputObject["etag"],
  size: InputObject["size"],
  sequencer: InputObject["sequencer"],
];
type InputArray = [
  kind: RecordInput["kind"],
  eventId: string | null,
  version: Version | null,
  source: string | null,
  dedupeKey: string | null,
  partition: string,
  lane: LaneDecision["lane"],
  watermark: LaneDecision["watermark"],
  sentAt: number,
  messageId: string,
  traceId: string | null,
  runId: string,
];

/** Version, ETag, size and sequencer of the object in `InputColumns.input`; null if it has none. */
export function inputVersionOf(input: string): Version | null {
  return (JSON.parse(input) as InputArray)[2];
}

export function fromInputColumns(row: InputColumns): RecordInput {
  const fields = JSON.parse(row.input) as InputArray;
  const [kind, eventId, version, source, dedupeKey, partition, lane, watermark] = fields;
  return {
    kind,
    eventId,
    object: version === null ? null : objectOf(row, version),
    source,
    dedupeKey,
    eventTime: epochMs(Number(row.eventTime)),
    sentAt: epochMs(fields[8]),
    messageId: fields[9],
    traceId: fields[10],
    runId: fields[11],
    partition,
    lane: { lane, watermark },
  };
}

function objectOf(
  { bucket, objectKey }: InputColumns,
  [versionId, etag, size, sequencer]: Version,
): InputObject {
  return {
    bucket: present(bucket, "the bucket of an input"),
    key: present(objectKey, "the object key of an input"),
    versionId,
    etag,
    size,
    sequencer,
  };
}
