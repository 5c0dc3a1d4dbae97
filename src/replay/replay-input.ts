// Replay input: one record of the past, and the message that brings it through the stages again.
//   I1. The ledger stores where a record came from, not its message. An object's event is rebuilt
//       from that, and counts only if it has the key of the record: nothing else is replayed.
//   I2. A message is replayed from the archive of its pipeline. The commit names the object, whose
//       name has the hash of its bytes. A message that was not archived is not rebuilt.
//   I3. A replayed message keeps its id, its attributes, its group and its sent time.

import { formatInstant } from "../core/encoding/rfc3339.ts";
import { parseUuid } from "../core/encoding/uuid.ts";
import type { ArchivedMessage } from "../core/events/archived-message.ts";
import { sequencerOrder } from "../core/events/sequencer.ts";
import { type EpochMs, epochMs } from "../core/units.ts";
import { type DecodingPipeline, decodeDelivery, type WorkRecord } from "../ingest/stages/decode.ts";
import type { Delivery } from "../ports/queue-receiver.ts";
import type { InputObject, LaneDecision, RecordInput, RecordKey } from "../ports/record.ts";

/** A record to replay, as it is frozen with its run. */
export interface ReplayInput {
  /** The key in the source generation. */
  readonly key: RecordKey;
  /** The same in every generation. Empty for a message until its object has been read. */
  readonly identity: string;
  readonly kind: "created" | "removed" | "message";
  /** The object of the event, or the archived message (I2). */
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
> & {
  readonly key: RecordKey;
  /** `s3://bucket/key` of an archived message; null for all others. */
  readonly archived: string | null;
};

const OBJECT_URL = /^s3:\/\/([^/]+)\/(.+)$/s;
const NAMES = { created: "ObjectCreated:Put", removed: "ObjectRemoved:Delete" } as const;

/** The input of a past record; null if its event cannot be rebuilt (I1, I2). */
export function rebuildInput(pipeline: DecodingPipeline, past: PastRecord): ReplayInput | null {
  const { object, key, eventId, eventTime, sentAt, partition, lane } = past;
  if (past.kind === "own" || past.kind === "message") return archivedInput(past); // I2
  if (past.kind !== "object" || object === null) return null;
  const at = epochMs(parseUuid(eventId ?? "")?.timeMs ?? eventTime);
  for (const kind of ["created", "removed"] as const) {
    const facts = { key, identity: "", kind, object, at, eventTime, sentAt, partition, lane };
    const record = decodeReplayInput(pipeline, facts);
    if (record?.key === key) return { ...facts, identity: record.identity }; // I1
  }
  return null;
}

function archivedInput(past: PastRecord): ReplayInput | null {
  const { key, archived, eventTime, sentAt, partition, lane } = past;
  const [, bucket, name] = OBJECT_URL.exec(archived ?? "") ?? [];
  if (bucket === undefined || name === undefined) return null;
  const object = { bucket, key: name, versionId: null, etag: null, size: null, sequencer: null };
  const times = { at: eventTime, eventTime, sentAt };
  return { key, identity: "", kind: "message", object, ...times, partition, lane };
}

/** Where the commit of a record says that its message is; null if it does not. */
export function archivedIn(effects: string | null): string | null {
  try {
    const { archived } = JSON.parse(effects ?? "{}") as { archived?: unknown };
    return typeof archived === "string" ? archived : null;
  } catch {
    return null;
  }
}

/** The record that the message of an input decodes to; null if the pipeline ignores it. */
export function decodeReplayInput(
  pipeline: DecodingPipeline,
  input: ReplayInput,
): WorkRecord | null {
  const { records } = decodeDelivery({ ...pipeline, onRemoved: "handle" }, deliveryOf(input, 1));
  return records[0] ?? null;
}

/** The delivery of an archived message (I3). */
export function archivedDelivery(
  { key }: Pick<ReplayInput, "key">,
  message: ArchivedMessage,
): Delivery {
  const { body, attributes, groupId, dedupId, sentAt, messageId } = message;
  const sent = { messageId, body, attributes, groupId, dedupId, sentAt };
  return {
    ...sent,
    receipt: receiptOf(key, 1),
    traceHeader: null,
    receiveCount: 1,
    movedFrom: null,
  };
}

/** Names a delivery of an input; ends with the number of the delivery. */
export function receiptOf(key: RecordKey, receiveCount: number): string {
  return `replay ${key} ${receiveCount}`;
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
        eventName: NAMES[kind === "removed" ? "removed" : "created"],
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
    receipt: receiptOf(key, receiveCount),
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
