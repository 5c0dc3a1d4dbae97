// EventBridge: S3 events delivered through EventBridge.
//   G1. The key is raw. Decoding it would turn "a+b" into "a b", which is another object.
//   G2. EventBridge has its own words for what happened; they are mapped to the event names of S3,
//       so that both sources agree. Unknown words are kept, with the kind "other".
//   G3. `time` has whole seconds and may not be S3's time; only the event's own time depends on it.

import type { JsonObject, JsonValue } from "../../encoding/canonical-json.ts";
import { buildObjectEvent } from "../object-event.ts";
import { asObject, memberAt, memberOf } from "../problem.ts";
import { type DecodedRecord, relocate } from "./s3-notification.ts";

const PLACES: Readonly<Record<string, string>> = {
  "/event_name": "/detail-type",
  "/bucket": "/detail/bucket/name",
  "/key": "/detail/object/key",
  "/version_id": "/detail/object/version-id",
  "/etag": "/detail/object/etag",
  "/size": "/detail/object/size",
  "/sequencer": "/detail/object/sequencer",
  "/request_id": "/detail/request-id",
  "/event_time": "/time",
};

export function isEventBridgeEvent(value: JsonObject): boolean {
  return typeof memberOf(value, "detail-type") === "string" && Object.hasOwn(value, "detail");
}

/** The one event of an EventBridge message. */
export function decodeEventBridge(
  message: JsonObject,
  pointer: string,
  traceId: string | null,
): DecodedRecord {
  if (memberOf(message, "source") !== "aws.s3") {
    const problems = [{ path: `${pointer}/source`, reason: "is not aws.s3" }];
    return { kind: "undecodable", problems, original: message };
  }
  const built = buildObjectEvent({
    source_kind: "eventbridge",
    event_name: eventNameOf(message),
    bucket: memberAt(message, "detail", "bucket", "name"),
    key: memberAt(message, "detail", "object", "key"), // G1
    version_id: memberAt(message, "detail", "object", "version-id"),
    etag: memberAt(message, "detail", "object", "etag"),
    size: memberAt(message, "detail", "object", "size"),
    sequencer: memberAt(message, "detail", "object", "sequencer"),
    request_id: memberAt(message, "detail", "request-id"),
    event_time: memberOf(message, "time"),
    last_modified: null,
    trace_id: traceId,
  });
  if (built.kind === "valid") return { kind: "event", event: built.value, original: message };
  const problems = relocate(built.problems, pointer, PLACES);
  return { kind: "undecodable", problems, original: message };
}

const CREATED_BY: ReadonlyMap<string, string> = new Map([
  ["PutObject", "Put"],
  ["POST Object", "Post"],
  ["CopyObject", "Copy"],
  ["CompleteMultipartUpload", "CompleteMultipartUpload"],
]);

const NAMES: ReadonlyMap<string, string> = new Map([
  ["Object Restore Initiated", "ObjectRestore:Post"],
  ["Object Restore Completed", "ObjectRestore:Completed"],
  ["Object Restore Expired", "ObjectRestore:Delete"],
  ["Object Tags Added", "ObjectTagging:Put"],
  ["Object Tags Deleted", "ObjectTagging:Delete"],
  ["Object ACL Updated", "ObjectAcl:Put"],
  ["Object Storage Class Changed", "LifecycleTransition"],
  ["Object Access Tier Changed", "IntelligentTiering"],
]);

/** S3's event name (G2); undefined stays undefined, to be reported. */
function eventNameOf(message: JsonObject): JsonValue | undefined {
  const type = memberOf(message, "detail-type");
  if (typeof type !== "string") return type;
  const detail = asObject(memberOf(message, "detail"));
  const reason = memberOf(detail, "reason");
  if (type === "Object Created") {
    const way = typeof reason === "string" ? (CREATED_BY.get(reason) ?? reason) : "Unknown";
    return `ObjectCreated:${way}`;
  }
  if (type === "Object Deleted") {
    const marker = memberOf(detail, "deletion-type") === "Delete Marker Created";
    const family = reason === "Lifecycle Expiration" ? "LifecycleExpiration" : "ObjectRemoved";
    return `${family}:${marker ? "DeleteMarkerCreated" : "Delete"}`;
  }
  return NAMES.get(type) ?? type;
}
