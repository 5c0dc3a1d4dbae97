// Object identity: when two notifications are about one event, and when about one object state.
//   D1. The event key identifies one event: what happened, to which object and version, and which
//       occurrence it was. The sequencer identifies the occurrence; without one (tagging, ACL,
//       restore) the request id does; failing that the event time. Deliveries are deduplicated by
//       it, so PUT A, PUT B, PUT A are three events.
//   D2. The idempotency key identifies one object state: the bytes under a key, or their absence.
//       It joins live events with HEADs and listings. It has no order and is compared with the
//       state applied last, never with all earlier states.
//   D3. Both are the same for all sources. So they consist only of values that all those sources
//       know, in one spelling.
//   D4. Both include what happened: a version created, removed and restored is three things.
//   D5. An unknown part never equals another unknown part: an object without ETag has the state
//       that its own event left, and no other.
//
// The parts of the idempotency key, and why:
//   bytes exist      bucket, key, etag, size. A notification, an EventBridge event, a HEAD and a
//                    listing all have these four. The version id is not included: ListObjectsV2
//                    does not return it, and a backfill would apply every object of a versioned
//                    bucket again. Neither is the sequencer, which only events have, nor
//                    Last-Modified, which only HEADs and listings have. Two versions with the same
//                    bytes are one state.
//   bytes are gone   bucket, key, version id. Only events report a removal, and they know the
//                    version; removing an old version must not look like removing the newest.
//   anything else    event name, bucket, key, version id, etag. No size, as the notification of a
//                    tagging does not have it.
// An ETag is an opaque name for bytes, not a digest of them: multipart uploads and SSE-KMS give
// the same bytes another one. Equal keys mean equal states; unequal keys may mean equal bytes.

import type { KeyPart } from "../encoding/key-encoding.ts";
import { keyDigest } from "../encoding/key-encoding.ts";
import { sequencerOrder } from "./sequencer.ts";

const KEY_VERSION = 1;

export type ObjectEventKind = "created" | "removed" | "restored" | "tagged" | "other";

/** The parts of the identities, in the normalised spelling of `object-event.ts`. */
export interface ObjectIdentityParts {
  readonly kind: ObjectEventKind;
  readonly event_name: string;
  readonly bucket: string;
  readonly key: string;
  readonly version_id: string | null;
  readonly etag: string | null;
  readonly size: number | null;
  readonly sequencer: string | null;
  readonly request_id: string | null;
  /** In the form of `formatInstant`. */
  readonly event_time: string;
}

/** Identity of one event, for deduplicating deliveries (D1). */
export function eventKey(parts: ObjectIdentityParts): string {
  return keyDigest(KEY_VERSION, [
    "object-event",
    effectOf(parts),
    parts.bucket,
    parts.key,
    parts.version_id,
    ...discriminatorOf(parts),
  ]);
}

/** Identity of one object state, for joining sources (D2). */
export function idempotencyKey(parts: ObjectIdentityParts): string {
  return keyDigest(KEY_VERSION, ["object-state", effectOf(parts), ...stateOf(parts)]);
}

function stateOf(parts: ObjectIdentityParts): KeyPart[] {
  const { bucket, key, version_id, etag, size } = parts;
  switch (parts.kind) {
    case "created":
      return etag === null ? ["unknown", eventKey(parts)] : [bucket, key, etag, size]; // D5
    case "removed":
      return [bucket, key, version_id];
    default:
      return [bucket, key, version_id, etag];
  }
}

/** Starts the name of a state that has a version; S3 never gives one version to two writes. */
const VERSION = "v:";
export const REMOVED_STATE = "removed";

/**
 * The name of the state that an event left, within its object key, for comparing a listing with
 * events: the version, else ETag and size. Null if the event says nothing about the bytes, or not
 * enough (D5).
 */
export function objectStateOf(parts: ObjectIdentityParts): string | null {
  const { kind, version_id, etag, size } = parts;
  if (kind === "removed") return REMOVED_STATE;
  if (kind !== "created") return null;
  if (version_id !== null) return `${VERSION}${version_id}`;
  return etag === null ? null : `e:${size ?? ""}:${etag}`;
}

/** Whether the state belongs to one write only: without versions, the same bytes may come back. */
export function isVersionState(state: string): boolean {
  return state.startsWith(VERSION);
}

/**
 * What happened, in words that all sources share (D3, D4). How bytes came or went (put, copy,
 * lifecycle) is not included: EventBridge words it differently, and a listing does not know it.
 */
function effectOf({ kind, event_name }: ObjectIdentityParts): string {
  return kind === "created" || kind === "removed" ? kind : event_name;
}

function discriminatorOf(parts: ObjectIdentityParts): KeyPart[] {
  if (parts.sequencer !== null) return ["sequencer", sequencerOrder(parts.sequencer)];
  if (parts.request_id !== null) return ["request", parts.request_id];
  return ["time", parts.event_time];
}

/** S3's ETag without the quotes that headers and listings add; null if it is empty. */
export function normalizeEtag(etag: string): string | null {
  const quoted = etag.length >= 2 && etag.startsWith('"') && etag.endsWith('"');
  const bare = quoted ? etag.slice(1, -1) : etag;
  return bare === "" ? null : bare;
}

/** Null for objects without a version, written as "null" or "". */
export function normalizeVersionId(versionId: string): string | null {
  return versionId === "" || versionId === "null" ? null : versionId;
}

const SCHEME = "s3:";

/** Event names without the prefix that configurations have and messages do not. */
export function normalizeEventName(name: string): string {
  return name.startsWith(SCHEME) ? name.slice(SCHEME.length) : name;
}

/** What an event with that name did to its object. */
export function kindOf(eventName: string): ObjectEventKind {
  switch (eventName.split(":", 1)[0]) {
    case "ObjectCreated":
      return "created";
    case "ObjectRemoved":
    case "LifecycleExpiration":
      return "removed";
    case "ObjectRestore":
      return "restored";
    case "ObjectTagging":
      return "tagged";
    default:
      return "other";
  }
}
