// S3 event notifications: {"Records":[...]}, as S3 sends them to SQS, SNS and Lambda.
//   N1. Records are checked one by one: a bad record does not affect its neighbours.
//   N2. The key is form-encoded ("+" is a space, %XX is UTF-8) and is decoded here, once.
//   N3. Any minor version of eventVersion 2 is accepted and its unknown fields are ignored; another
//       major version is rejected, since the fields may mean something else.

import type { JsonObject, JsonValue } from "../../encoding/canonical-json.ts";
import { buildObjectEvent, type ObjectEvent } from "../object-event.ts";
import { asObject, memberAt, memberOf, type Problem } from "../problem.ts";

export type DecodedRecord =
  | {
      readonly kind: "event";
      readonly event: ObjectEvent;
      /** The original record, including what the event has no field for. */
      readonly original: JsonValue;
    }
  | {
      readonly kind: "undecodable";
      readonly problems: readonly Problem[];
      readonly original: JsonValue;
    };

const VERSION = /^2\.\d{1,4}$/;

/** Where the fields of an event are in a record. */
const PLACES: Readonly<Record<string, string>> = {
  "/event_name": "/eventName",
  "/bucket": "/s3/bucket/name",
  "/key": "/s3/object/key",
  "/version_id": "/s3/object/versionId",
  "/etag": "/s3/object/eTag",
  "/size": "/s3/object/size",
  "/sequencer": "/s3/object/sequencer",
  "/request_id": "/responseElements/x-amz-request-id",
  "/event_time": "/eventTime",
};

/** Decodes one record of a notification; `pointer` is its JSON pointer within the message. */
export function decodeS3Record(
  original: JsonValue,
  pointer: string,
  traceId: string | null,
): DecodedRecord {
  const refuse = (path: string, reason: string): DecodedRecord => ({
    kind: "undecodable",
    problems: [{ path: pointer + path, reason }],
    original,
  });
  const record = asObject(original);
  if (record === undefined) return refuse("", "is not a JSON object");
  const source = memberOf(record, "eventSource");
  if (source !== "aws:s3") return refuse("/eventSource", "is not aws:s3");
  const version = memberOf(record, "eventVersion");
  if (typeof version !== "string" || !VERSION.test(version)) {
    return refuse("/eventVersion", `is ${JSON.stringify(version ?? null)}; version 2 is read here`);
  }
  const encoded = memberAt(record, "s3", "object", "key");
  const key = typeof encoded === "string" ? decodeFormKey(encoded) : encoded;
  if (key === null) return refuse("/s3/object/key", "is not form-encoded UTF-8");
  const built = buildObjectEvent({ ...factsOf(record), key, trace_id: traceId });
  if (built.kind === "valid") return { kind: "event", event: built.value, original };
  const problems = relocate(built.problems, pointer, PLACES);
  return { kind: "undecodable", problems, original };
}

function factsOf(record: JsonObject) {
  return {
    source_kind: "s3-notification",
    event_name: memberOf(record, "eventName"),
    bucket: memberAt(record, "s3", "bucket", "name"),
    version_id: memberAt(record, "s3", "object", "versionId"),
    etag: memberAt(record, "s3", "object", "eTag"),
    size: memberAt(record, "s3", "object", "size"),
    sequencer: memberAt(record, "s3", "object", "sequencer"),
    request_id: memberAt(record, "responseElements", "x-amz-request-id"),
    event_time: memberOf(record, "eventTime"),
    last_modified: null,
  } as const;
}

/** Decodes a form-encoded key (N2); null if it is malformed. */
export function decodeFormKey(encoded: string): string | null {
  try {
    return decodeURIComponent(encoded.replaceAll("+", " "));
  } catch {
    return null; // A stray percent sign, or bytes that are not UTF-8.
  }
}

/** Problems of an event, with paths into the message it was read from. */
export function relocate(
  problems: readonly Problem[],
  base: string,
  places: Readonly<Record<string, string>>,
): Problem[] {
  return problems.map(({ path, reason }) => ({ path: base + (places[path] ?? path), reason }));
}
