// Replay input: one record of the past, and the message that brings it through the stages again.
//   I1. The ledger stores where a record came from, not its message. An object's event is rebuilt
//       from that, and counts only if it has the key of the record: nothing else is replayed.
//   I2. Messages without an object are not rebuilt: the ledger does not have their bodies.

import { formatInstant } from "../core/encoding/rfc3339.ts";
import { parseUuid } from "../core/encoding/uuid.ts";
import { sequencerOrder } from "../core/events/sequencer.ts";
import { type EpochMs, epochMs } from "../core/units.ts";
import { type DecodingPipeline, decodeDelivery, type WorkRecord } from "../ingest/stages/decode.ts";
import type { Delivery } from "../ports/queue-receiver.ts";
import type { InputObject, LaneDecision, RecordInput, RecordKey } from "../ports/record.ts";

/** A record to replay, as it is frozen with its run. */
export interface ReplayInput {
  /** The key in the source generation. */
  readonly key: RecordKey;
  /** The same in every generation. */
  readonly identity: string;
  readonly kind: "created" | "removed";
  readonly object: InputObject;
  /** When S3 says that it happened. */
  readonly at: EpochMs;
  /** As the pipeline saw it. */
  readonly eventTime: EpochMs;
  readonly sentAt: EpochMs;
  readonly partition: string;
  readonly lane: LaneDecision;
}

/** What is known about a past record. */
export type PastRecord = Pick<
  RecordInput,
  "kind" | "eventId" | "object" | "eventTime" | "sentAt" | "partition" | "lane"
> & { readonly key: RecordKey };

const NAMES = { created: "ObjectCreated:Put", removed: "ObjectRemoved:Delete" } as const;

/** The input of a past record; null if its event cannot be rebuilt (I1, I2). */
export function rebuildInput(pipeline: DecodingPipeline, past: PastRecord): ReplayInput | null {
  const { object, key, eventId, eventTime, sentAt, partition, lane } = past;
  if (past.kind !== "object" || object === null) return null; // I2
  const at = epochMs(parseUuid(eventId ?? "")?.timeMs ?? eventTime);
  for (const kind of ["created", "removed"] as const) {
    const facts = { key, identity: "", kind, object, at, eventTime, sentAt, partition, lane };
    const record = decodeReplayInput(pipeline, facts);
    if (record?.key === key) return { ...facts, identity: record.identity }; // I1
  }
  return null;
}

/** The record that the message of an input decodes to; null if the pipeline ignores it. */
export function decodeReplayInput(
  pipeline: DecodingPipeline,
  input: ReplayInput,
): WorkRecord | null {
  const { records } = decodeDelivery({ ...pipeline, onRemoved: "handle" }, deliveryOf(input, 1));
  return records[0] ?? null;
}

/** The delivery that a replay processes in place of the original one. */
export function deliveryOf(input: ReplayInput, receiveCount: number): Delivery {
  const { object, kind, at, key, sentAt } = input;
  const body = {
    Records: [
      {
        eventVersion: "2.1",
        eventSource: "aws:s3",
        awsRegion: "us-east-1",
        eventTime: formatInstant(at),
        eventName: NAMES[kind],
        s3: {
          s3SchemaVersion: "1.0",
          bucket: { name: object.bucket },
          object: {
            key: encodeURIComponent(object.key),
            ...(object.size !== null && { size: object.size }),
            ...(object.etag !== null && { eTag: object.etag }),
            ...(object.versionId !== null && { versionId: object.versionId }),
            ...(object.sequencer !== null && { sequencer: object.sequencer }),
          },
        },
      },
    ],
  };
  return {
    messageId: `replay ${key}`,
    receipt: `replay ${key} ${receiveCount}`,
    body: JSON.stringify(body),
    attributes: {},
    traceHeader: null,
    groupId: null,
    sentAt,
    receiveCount,
    movedFrom: null,
  };
}

/** The order of a replay: event time, partition, sequencer, record key. */
export function compareInputs(a: ReplayInput, b: ReplayInput): number {
  return (
    a.eventTime - b.eventTime ||
    compareTexts(a.partition, b.partition) ||
    compareTexts(paddedSequencer(a), paddedSequencer(b)) ||
    compareTexts(a.key, b.key)
  );
}

function compareTexts(a: string, b: string): number {
  return a === b ? 0 : a < b ? -1 : 1;
}

function paddedSequencer({ object }: ReplayInput): string {
  return sequencerOrder(object.sequencer ?? "");
}

/** The object of an input, as a name. */
export function replayedObject({ object: { bucket, key } }: Pick<ReplayInput, "object">): string {
  return `s3://${bucket}/${key}`;
}
