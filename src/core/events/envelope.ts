// Message envelope: the body of a message that a Tidegate producer sends.
//   V1. Identity is (event_source, dedupe_key), both in the body. Message attributes never take
//       part: a queue may drop them, and content-based deduplication ignores them.
//   V2. The same logical event always gives the same bytes: event_id is derived, event_time has one
//       form, the text is canonical, and it contains nothing volatile (trace, attempt, clock).
//   V3. A dedupe_key is unique within its source for as long as a ledger keeps it, not merely for
//       the five minutes of SQS. Every key derived from it includes the source.
//   V4. Unknown fields are kept. Another schema_version is rejected as a whole, as the meaning of
//       its fields is unknown; an envelope without one has version 1.
//   V5. Missing fields are rejected, never defaulted: two messages without a key would share one.

import { canonicalJson, type JsonObject, type JsonValue } from "../encoding/canonical-json.ts";
import { sha256Hex } from "../encoding/hash.ts";
import { encodeKey, keyDigest } from "../encoding/key-encoding.ts";
import {
  formatInstant,
  INSTANT_MS_MAX,
  INSTANT_MS_MIN,
  parseInstant,
} from "../encoding/rfc3339.ts";
import { hasInvalidXmlCharacter, utf8ByteLength } from "../encoding/text.ts";
import { deterministicUuid, isUuid } from "../encoding/uuid.ts";
import { TidegateError } from "../errors.ts";
import { DEDUPE_KEY_BYTES_MAX, EVENT_SOURCE_CHARACTERS_MAX } from "../limits.ts";
import { type EpochMs, epochMs } from "../units.ts";
import { asObject, type Checked, invalidAt, memberOf, type Problem } from "./problem.ts";

export const ENVELOPE_VERSION = 1;
const KEY_VERSION = 1;

/** The body as sent; field names are those of the published contract. */
export interface MessageEnvelope extends JsonObject {
  readonly event_id: string;
  /** `<org>.<domain>.<pipeline>`. */
  readonly event_source: string;
  readonly event_time: string;
  readonly dedupe_key: string;
  readonly payload: JsonObject;
}

/** An event before it is built. Source and dedupe key are its identity. */
export interface EnvelopeInput {
  /** The producer: `<org>.<domain>.<pipeline>`. */
  readonly source: string;
  /** Names the event within its source; two events with one key are duplicates. */
  readonly dedupeKey: string;
  /** When it happened, not when it is sent; digits beyond milliseconds are dropped. */
  readonly eventTime: number | string;
  readonly payload: JsonObject;
}

/** A valid event, ready to send. */
export interface BuiltEnvelope {
  readonly envelope: MessageEnvelope;
  /** The canonical text; send it unchanged. */
  readonly body: string;
  /** The MessageDeduplicationId, derived from source and dedupe key. */
  readonly dedupId: string;
}

/** Builds the only body of an event (V2), or returns all its problems. */
export function buildEnvelope(input: EnvelopeInput): Checked<BuiltEnvelope> {
  const at = readEventTime(input.eventTime);
  if (typeof at === "string") return invalidAt("/event_time", at);
  const draft: MessageEnvelope = {
    schema_version: ENVELOPE_VERSION,
    event_id: "",
    event_source: input.source,
    event_time: formatInstant(at),
    dedupe_key: input.dedupeKey,
    payload: input.payload,
  };
  const problems = [
    ...sourceProblems(draft.event_source),
    ...dedupeKeyProblems(draft.dedupe_key),
    ...payloadProblems(draft.payload),
  ];
  if (problems.length > 0) return { kind: "invalid", problems };
  const envelope = { ...draft, event_id: envelopeEventId(input.source, input.dedupeKey, at) };
  const body = bodyOf(envelope);
  if (body.kind === "invalid") return body;
  const dedupId = messageDedupId(input.source, input.dedupeKey);
  return { kind: "valid", value: { envelope, body: body.value, dedupId } };
}

/** Validates a parsed body. Returns the value unchanged, with its unknown fields (V4). */
export function validateEnvelope(value: JsonValue): Checked<MessageEnvelope> {
  const envelope = asObject(value);
  if (envelope === undefined) return invalidAt("", "is not a JSON object");
  const version = memberOf(envelope, "schema_version");
  if (version !== undefined && version !== ENVELOPE_VERSION) {
    const actual = JSON.stringify(version);
    return invalidAt("/schema_version", `is ${actual}; this release reads ${ENVELOPE_VERSION}`);
  }
  const problems = [
    ...eventIdProblems(memberOf(envelope, "event_id")),
    ...sourceProblems(memberOf(envelope, "event_source")),
    ...instantProblems("/event_time", memberOf(envelope, "event_time")),
    ...dedupeKeyProblems(memberOf(envelope, "dedupe_key")),
    ...payloadProblems(memberOf(envelope, "payload")),
  ];
  if (problems.length > 0) return { kind: "invalid", problems };
  return { kind: "valid", value: envelope as MessageEnvelope };
}

/** The deduplication id for SQS or SNS: 64 hex digits, well within their 128. */
export function messageDedupId(source: string, dedupeKey: string): string {
  return sha256Hex(encodeKey(["dedup-id", source, dedupeKey])); // V3
}

/** The identity of an event in ledgers and outboxes. */
export function envelopeKey(source: string, dedupeKey: string): string {
  return keyDigest(KEY_VERSION, ["message-envelope", source, dedupeKey]); // V3
}

/** Distinguishes a replay (same digest) from a reused dedupe_key (another payload). */
export function payloadDigest(payload: JsonObject): string {
  return sha256Hex(canonicalJson(payload));
}

/** The id of an event, for provenance and logs; it is always the same for the same event. */
export function envelopeEventId(source: string, dedupeKey: string, eventTime: EpochMs): string {
  return deterministicUuid(eventTime, encodeKey(["event-id", source, dedupeKey, eventTime]));
}

function bodyOf(envelope: MessageEnvelope): Checked<string> {
  try {
    const body = canonicalJson(envelope);
    // JSON does not escape U+FFFE and U+FFFF, and SQS rejects them everywhere.
    if (hasInvalidXmlCharacter(body)) return invalidAt("", "contains a character that SQS rejects");
    return { kind: "valid", value: body };
  } catch (error) {
    if (!(error instanceof TidegateError)) throw error;
    return invalidAt("/payload", `cannot be sent: ${error.message}`);
  }
}

/** The instant, or what is wrong with it. */
function readEventTime(eventTime: number | string): EpochMs | string {
  if (typeof eventTime === "string") {
    const parsed = parseInstant(eventTime);
    return parsed.kind === "instant" ? parsed.epochMs : parsed.reason;
  }
  const whole = Number.isInteger(eventTime);
  if (whole && eventTime >= INSTANT_MS_MIN && eventTime <= INSTANT_MS_MAX) {
    return epochMs(eventTime);
  }
  return "is not a whole number of milliseconds within the years 0000 to 9999";
}

export function instantProblems(path: string, value: JsonValue | undefined): Problem[] {
  if (value === undefined) return [{ path, reason: "is missing" }];
  if (typeof value !== "string") return [{ path, reason: "is not a string" }];
  const parsed = parseInstant(value);
  return parsed.kind === "invalid" ? [{ path, reason: parsed.reason }] : [];
}

export function eventIdProblems(value: JsonValue | undefined): Problem[] {
  const path = "/event_id";
  if (value === undefined) return [{ path, reason: "is missing" }];
  if (typeof value !== "string" || !isUuid(value)) return [{ path, reason: "is not a UUID" }];
  return [];
}

const SEGMENT = "[a-z0-9]+(?:[-_][a-z0-9]+)*";
const SOURCE = new RegExp(`^${SEGMENT}(?:\\.${SEGMENT}){2}$`);

function sourceProblems(value: JsonValue | undefined): Problem[] {
  const path = "/event_source";
  if (value === undefined) return [{ path, reason: "is missing" }];
  if (typeof value !== "string") return [{ path, reason: "is not a string" }];
  if (value.length > EVENT_SOURCE_CHARACTERS_MAX) {
    return [{ path, reason: `is longer than ${EVENT_SOURCE_CHARACTERS_MAX} characters` }];
  }
  if (SOURCE.test(value)) return [];
  return [{ path, reason: "is not <org>.<domain>.<pipeline> in lower case" }];
}

function dedupeKeyProblems(value: JsonValue | undefined): Problem[] {
  const path = "/dedupe_key";
  if (value === undefined) return [{ path, reason: "is missing" }]; // V5
  if (typeof value !== "string") return [{ path, reason: "is not a string" }];
  if (value.trim() === "") return [{ path, reason: "is empty" }]; // V5
  if (!value.isWellFormed()) return [{ path, reason: "contains a lone surrogate" }];
  if (utf8ByteLength(value) > DEDUPE_KEY_BYTES_MAX) {
    return [{ path, reason: `is longer than ${DEDUPE_KEY_BYTES_MAX} bytes` }];
  }
  return [];
}

function payloadProblems(value: JsonValue | undefined): Problem[] {
  const path = "/payload";
  if (value === undefined) return [{ path, reason: "is missing" }];
  return asObject(value) === undefined ? [{ path, reason: "is not a JSON object" }] : [];
}
