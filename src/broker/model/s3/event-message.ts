// Event messages: the JSON of S3 events, in one form for queues and topics and in another for
// EventBridge.
//   E1. Keys are form-encoded in S3's form, as Java's URLEncoder does it except for the slash, and
//       unencoded in EventBridge's form.
//   E2. The sequencers of a key only grow, also across restarts: a sequencer is the broker's
//       message number in hex. All have the same width, so that padding on either side is harmless.
//   E3. versionId is present only for a version that has an id: never in a bucket without
//       versioning, and not for a null version.
//   E4. Deletions have no size and no ETag; a delete marker has the ETag of an empty object.
//       Tagging has neither size nor sequencer. A copy says that it has no annotation.

import { formatInstant } from "../../../core/encoding/rfc3339.ts";
import type { EpochMs } from "../../../core/units.ts";
import type { BrokerState } from "../broker-state.ts";
import type { BucketRecord } from "./bucket.ts";
import type { Origin } from "./s3-operations.ts";

const SEQUENCER_DIGITS = 18;
const ETAG_OF_NOTHING = "d41d8cd98f00b204e9800998ecf8427e";

/** Without the prefix "s3:". */
export type EventName =
  | "ObjectCreated:Put"
  | "ObjectCreated:Post"
  | "ObjectCreated:Copy"
  | "ObjectCreated:CompleteMultipartUpload"
  | "ObjectRemoved:Delete"
  | "ObjectRemoved:DeleteMarkerCreated"
  | "ObjectTagging:Put"
  | "ObjectTagging:Delete";

export interface BucketEvent {
  readonly name: EventName;
  readonly key: string;
  readonly version: string | null;
  readonly sizeBytes: number;
  readonly etag: string;
  readonly seq: number;
}

export function formatSequencer(seq: number): string {
  return seq.toString(16).toUpperCase().padStart(SEQUENCER_DIGITS, "0"); // E2
}

/** A key as S3 events contain it (E1). */
export function encodeEventKey(key: string): string {
  return encodeURIComponent(key)
    .replace(/%2F/g, "/")
    .replace(/%20/g, "+")
    .replace(/[!'()~]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`);
}

export function bucketArn(bucket: string): string {
  return `arn:aws:s3:::${bucket}`;
}

export function s3Message(
  bucket: BucketRecord,
  origin: Origin,
  event: BucketEvent,
  configurationId: string,
  now: EpochMs,
): string {
  const record = {
    eventVersion: origin.eventVersion,
    eventSource: "aws:s3",
    awsRegion: bucket.region,
    eventTime: formatInstant(now),
    eventName: event.name,
    userIdentity: { principalId: origin.principalId },
    requestParameters: { sourceIPAddress: origin.sourceIp },
    responseElements: {
      "x-amz-request-id": origin.requestId,
      "x-amz-id-2": origin.hostId,
    },
    s3: {
      s3SchemaVersion: "1.0",
      configurationId,
      bucket: {
        name: bucket.name,
        ownerIdentity: { principalId: origin.ownerId },
        arn: bucketArn(bucket.name),
      },
      object: objectFields(event),
    },
  };
  return JSON.stringify({ Records: [record] });
}

function objectFields(event: BucketEvent): Record<string, unknown> {
  const { name, sizeBytes, etag } = event;
  const key = encodeEventKey(event.key);
  const versionId = event.version === null || event.version === "null" ? undefined : event.version; // E3
  const sequencer = formatSequencer(event.seq);
  switch (name) {
    case "ObjectRemoved:Delete":
      return { key, versionId, sequencer }; // E4
    case "ObjectRemoved:DeleteMarkerCreated":
      return { key, eTag: ETAG_OF_NOTHING, versionId, sequencer };
    case "ObjectTagging:Put":
    case "ObjectTagging:Delete":
      return { key, eTag: etag, versionId };
    case "ObjectCreated:Copy":
      return { key, size: sizeBytes, eTag: etag, versionId, sequencer, hasObjectAnnotation: false };
    default:
      return { key, size: sizeBytes, eTag: etag, versionId, sequencer };
  }
}

const REASONS: Partial<Record<EventName, string>> = {
  "ObjectCreated:Put": "PutObject",
  "ObjectCreated:Post": "POST Object",
  "ObjectCreated:Copy": "CopyObject",
  "ObjectCreated:CompleteMultipartUpload": "CompleteMultipartUpload",
  "ObjectRemoved:Delete": "DeleteObject",
  "ObjectRemoved:DeleteMarkerCreated": "DeleteObject",
};

export function eventBridgeMessage(
  state: BrokerState,
  bucket: BucketRecord,
  origin: Origin,
  event: BucketEvent,
  id: string,
  now: EpochMs,
): string {
  const { account } = state.identity;
  const reason = REASONS[event.name];
  return JSON.stringify({
    version: "0",
    id,
    "detail-type": detailType(event.name),
    source: "aws.s3",
    account,
    time: formatInstant(now).replace(/\.\d+Z$/, "Z"),
    region: bucket.region,
    resources: [bucketArn(bucket.name)],
    detail: {
      version: "0",
      bucket: { name: bucket.name },
      object: bridgedObject(event),
      "request-id": origin.requestId,
      requester: account,
      "source-ip-address": origin.sourceIp,
      reason,
      "deletion-type": deletionType(event.name),
    },
  });
}

function bridgedObject(event: BucketEvent): Record<string, unknown> {
  const { key, name } = event;
  const version = event.version === null || event.version === "null" ? undefined : event.version;
  const tagging = name.startsWith("ObjectTagging");
  const sequencer = tagging ? undefined : formatSequencer(event.seq);
  if (name === "ObjectRemoved:Delete") return { key, "version-id": version, sequencer };
  const etag = name === "ObjectRemoved:DeleteMarkerCreated" ? ETAG_OF_NOTHING : event.etag;
  const size = name.startsWith("ObjectCreated") ? event.sizeBytes : undefined;
  return { key, size, etag, "version-id": version, sequencer };
}

function detailType(name: EventName): string {
  if (name.startsWith("ObjectCreated")) return "Object Created";
  if (name.startsWith("ObjectRemoved")) return "Object Deleted";
  return name === "ObjectTagging:Put" ? "Object Tags Added" : "Object Tags Deleted";
}

function deletionType(name: EventName): string | undefined {
  if (name === "ObjectRemoved:Delete") return "Permanently Deleted";
  return name === "ObjectRemoved:DeleteMarkerCreated" ? "Delete Marker Created" : undefined;
}

/** The test event for a new destination; it has no records. */
export function testMessage(bucket: string, origin: Origin, now: EpochMs): string {
  return JSON.stringify({
    Service: "Amazon S3",
    Event: "s3:TestEvent",
    Time: formatInstant(now),
    Bucket: bucket,
    RequestId: origin.requestId,
    HostId: origin.hostId,
  });
}
