// Object identity: when two tidings are of one event, and when they are of one object state.
//   D1. The event key names one event: what happened, to which object and version, and which of
//       the many it was. The last is told by the sequencer; where there is none (tagging, ACL,
//       restore) by the request id; failing that by the event time. Deliveries are deduplicated
//       by it, so PUT A, PUT B, PUT A are three events.
//   D2. The idempotency key names one object state: the bytes that lie under a key, or their
//       absence. It joins live events with HEADs and listings. It says nothing about order and
//       is compared with the state last applied, never with all states ever seen.
//   D3. Both are the same whichever source told of it. So they are made only of what all those
//       sources know, in one spelling.
//   D4. What happened is part of both: a version created, removed and restored is three things.
//   D5. An unknown part never equals another unknown part: an object without ETag has the state
//       that its own event left, and no other.
//
// What the idempotency key is made of, and why:
//   bytes are there   bucket, key, etag, size. A notification, an EventBridge event, a HEAD and a
//                     listing all tell these four. The version id is left out: ListObjectsV2 does
//                     not tell it, and a backfill would apply every object of a versioned bucket
//                     again. So is the sequencer, known to events only, and Last-Modified, known
//                     to HEADs and listings only. Two versions with the same bytes are one state.
//   bytes are gone    bucket, key, version id. Only events tell of it, and they know the version;
//                     the removal of an old version must not pass for that of the newest.
//   anything else     event name, bucket, key, version id, etag. No size, as the tidings of a
//                     tagging do not have it.
// An ETag is an opaque name for bytes, not a digest of them: multipart uploads and SSE-KMS give
// the same bytes another one. Equal keys mean equal states; unequal keys may mean equal bytes.

import type { KeyPart } from "../encoding/key-encoding.ts";
import { keyDigest } from "../encoding/key-encoding.ts";
import { sequencerOrder } from "./sequencer.ts";

const KEY_VERSION = 1;

export type ObjectEventKind = "created" | "removed" | "restored" | "tagged" | "other";

/** What the identities are made of, in the one spelling that `object-event.ts` brings about. */
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
  /** In the one form of `formatInstant`. */
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

/**
 * What happened, in words that all sources share (D3, D4). How bytes came or went (put, copy,
 * lifecycle) is not part of it, since EventBridge words that differently and a listing not at all.
 */
function effectOf({ kind, event_name }: ObjectIdentityParts): string {
  return kind === "created" || kind === "removed" ? kind : event_name;
}

function discriminatorOf(parts: ObjectIdentityParts): KeyPart[] {
  if (parts.sequencer !== null) return ["sequencer", sequencerOrder(parts.sequencer)];
  if (parts.request_id !== null) return ["request", parts.request_id];
  return ["time", parts.event_time];
}

/** S3's ETag without the quotes that headers and listings put around it; null if there is none. */
export function normalizeEtag(etag: string): string | null {
  const quoted = etag.length >= 2 && etag.startsWith('"') && etag.endsWith('"');
  const bare = quoted ? etag.slice(1, -1) : etag;
  return bare === "" ? null : bare;
}

/** Null for objects without a version: told as "null", as "", or not at all. */
export function normalizeVersionId(versionId: string): string | null {
  return versionId === "" || versionId === "null" ? null : versionId;
}

const SCHEME = "s3:";

/** Event names without the prefix that configurations have and messages have not. */
export function normalizeEventName(name: string): string {
  return name.startsWith(SCHEME) ? name.slice(SCHEME.length) : name;
}

/** What an event of that name did to its object. */
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
