// Object event: what happened to one object, in one shape for all sources.
//   O1. All sources go through `buildObjectEvent`, the only place that normalises spellings: quotes
//       of ETags, "null" versions, the s3: prefix of names, the form of times.
//   O2. Keys arrive decoded. Every source has its own encoding, and decoding twice turns "100%2B"
//       into "100+"; the decoder of the source has decoded once.
//   O3. trace_id is passed on and is not part of any identity.
//   O4. An object event has one spelling. Two that mean the same are equal field by field.
//   O5. event_time is when S3 finished the request (events) or when the object was last modified
//       (HEAD, listing). The two differ for the same write, so last_modified is included as well.

import { assert } from "../assert.ts";
import type { JsonObject, JsonValue } from "../encoding/canonical-json.ts";
import { formatInstant, parseInstant } from "../encoding/rfc3339.ts";
import { utf8ByteLength } from "../encoding/text.ts";
import { deterministicUuid } from "../encoding/uuid.ts";
import {
  S3_KEY_BYTES_MAX,
  S3_LEGACY_BUCKET_NAME_CHARACTERS_MAX,
  S3_OPAQUE_CHARACTERS_MAX,
  SEQUENCER_CHARACTERS_MAX,
} from "../limits.ts";
import {
  eventKey,
  idempotencyKey,
  kindOf,
  normalizeEtag,
  normalizeEventName,
  normalizeVersionId,
  type ObjectEventKind,
  type ObjectIdentityParts,
} from "./object-identity.ts";
import type { Checked, Problem } from "./problem.ts";

export const OBJECT_EVENT_VERSION = 1;

export const SOURCE_KINDS = ["s3-notification", "eventbridge", "head", "listing"] as const;
export type SourceKind = (typeof SOURCE_KINDS)[number];

/** Field names are those of the published contract. */
export interface ObjectEvent extends JsonObject, ObjectIdentityParts {
  readonly schema_version: 1;
  /** For provenance. Deduplicate by `event_key`, since the times of two sources may differ. */
  readonly event_id: string;
  readonly event_key: string;
  readonly event_name: string;
  readonly kind: ObjectEventKind;
  readonly source_kind: SourceKind;
  readonly bucket: string;
  readonly key: string;
  readonly version_id: string | null;
  readonly etag: string | null;
  readonly size: number | null;
  readonly sequencer: string | null;
  readonly request_id: string | null;
  readonly event_time: string;
  readonly last_modified: string | null;
  readonly idempotency_key: string;
  readonly trace_id: string | null;
}

/** The values of a source, not validated yet; the key is decoded (O2). Null means absent. */
export interface ObjectFacts {
  readonly source_kind: SourceKind;
  readonly event_name: JsonValue | undefined;
  readonly bucket: JsonValue | undefined;
  readonly key: JsonValue | undefined;
  readonly version_id: JsonValue | undefined;
  readonly etag: JsonValue | undefined;
  readonly size: JsonValue | undefined;
  readonly sequencer: JsonValue | undefined;
  readonly request_id: JsonValue | undefined;
  readonly event_time: JsonValue | undefined;
  readonly last_modified: JsonValue | undefined;
  readonly trace_id: JsonValue | undefined;
}

const HEX = /^[0-9A-Fa-f]+$/;
const TRACE_ID = /^(?!0{32})[0-9a-f]{32}$/;
const TRACE_ID_CHARACTERS = 32;

/** The event with these facts (O1), or all problems with them. */
export function buildObjectEvent(facts: ObjectFacts): Checked<ObjectEvent> {
  const problems: Problem[] = [];
  const reader: Reader = { facts, problems };
  const eventName = normalizeEventName(readText(reader, "event_name", S3_OPAQUE_CHARACTERS_MAX));
  const versionId = readOptionalText(reader, "version_id", S3_OPAQUE_CHARACTERS_MAX);
  const etag = readOptionalText(reader, "etag", S3_OPAQUE_CHARACTERS_MAX);
  const parts: ObjectIdentityParts = {
    kind: kindOf(eventName),
    event_name: eventName,
    bucket: readText(reader, "bucket", S3_LEGACY_BUCKET_NAME_CHARACTERS_MAX),
    key: readKey(reader),
    version_id: versionId === null ? null : normalizeVersionId(versionId),
    etag: etag === null ? null : normalizeEtag(etag),
    size: readSize(reader),
    sequencer: readSequencer(reader),
    request_id: readOptionalText(reader, "request_id", S3_OPAQUE_CHARACTERS_MAX),
    event_time: readInstant(reader, "event_time") ?? "",
  };
  if (facts.event_time === undefined || facts.event_time === null) {
    problems.push({ path: "/event_time", reason: "is missing" });
  }
  const lastModified = readInstant(reader, "last_modified");
  const traceId = readTraceId(reader);
  if (problems.length > 0) return { kind: "invalid", problems };
  const key = eventKey(parts);
  const value: ObjectEvent = {
    schema_version: OBJECT_EVENT_VERSION,
    event_id: objectEventId(parts.event_time, key),
    event_key: key,
    source_kind: facts.source_kind,
    ...parts,
    last_modified: lastModified,
    idempotency_key: idempotencyKey(parts),
    trace_id: traceId, // O3
  };
  return { kind: "valid", value };
}

function objectEventId(eventTime: string, key: string): string {
  const at = parseInstant(eventTime);
  assert(at.kind === "instant", "event times are in normalised form");
  return deterministicUuid(at.epochMs, key);
}

type FactName = Exclude<keyof ObjectFacts, "source_kind">;

interface Reader {
  readonly facts: ObjectFacts;
  readonly problems: Problem[];
}

function report(reader: Reader, name: FactName, reason: string): void {
  reader.problems.push({ path: `/${name}`, reason });
}

function readText(reader: Reader, name: FactName, charactersMax: number): string {
  const text = readOptionalText(reader, name, charactersMax);
  const value = reader.facts[name];
  if (text === null && (typeof value === "string" || value === undefined || value === null)) {
    report(reader, name, value === "" ? "is empty" : "is missing");
  }
  return text ?? "";
}

/** Null for a value that is absent, empty, or (reported) not a string. */
function readOptionalText(reader: Reader, name: FactName, charactersMax: number): string | null {
  const value = reader.facts[name];
  if (value === undefined || value === null || value === "") return null;
  if (typeof value !== "string") {
    report(reader, name, "is not a string");
    return null;
  }
  if (!value.isWellFormed()) report(reader, name, "contains a lone surrogate");
  if (value.length > charactersMax) {
    report(reader, name, `is longer than ${charactersMax} characters`);
  }
  return value;
}

function readKey(reader: Reader): string {
  const key = readText(reader, "key", S3_KEY_BYTES_MAX);
  const bytes = utf8ByteLength(key);
  if (bytes > S3_KEY_BYTES_MAX && key.length <= S3_KEY_BYTES_MAX) {
    report(reader, "key", `is longer than ${S3_KEY_BYTES_MAX} bytes`);
  }
  return key;
}

function readSize(reader: Reader): number | null {
  const { size } = reader.facts;
  if (size === undefined || size === null) return null;
  if (typeof size === "number" && Number.isSafeInteger(size) && size >= 0) return size;
  report(reader, "size", "is not a whole number of bytes");
  return null;
}

function readSequencer(reader: Reader): string | null {
  const sequencer = readOptionalText(reader, "sequencer", SEQUENCER_CHARACTERS_MAX);
  if (sequencer === null) return null;
  if (!HEX.test(sequencer)) report(reader, "sequencer", "is not hexadecimal");
  return sequencer.toUpperCase(); // O4
}

function readInstant(reader: Reader, name: "event_time" | "last_modified"): string | null {
  const value = reader.facts[name];
  if (value === undefined || value === null) return null;
  const parsed = typeof value === "string" ? parseInstant(value) : undefined;
  if (parsed?.kind === "instant") return formatInstant(parsed.epochMs); // O4
  report(reader, name, parsed?.reason ?? "is not a string");
  return null;
}

function readTraceId(reader: Reader): string | null {
  const traceId = readOptionalText(reader, "trace_id", TRACE_ID_CHARACTERS);
  if (traceId !== null && !TRACE_ID.test(traceId)) {
    report(reader, "trace_id", "is not a trace id of 32 lower-case hex digits");
  }
  return traceId;
}
