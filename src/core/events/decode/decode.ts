// Decode: from the body of a message to what it tells. Shapes are told apart by their fields, never
// by the queue they came through: the same queue may be fed by S3, SNS, EventBridge and ourselves.
//   M1. Nothing throws on bad input and nothing is dropped: what cannot be read is "undecodable",
//       with its place and reason, for the dead-letter queue to show.
//   M2. A shape that is recognised is held to its rules. A body with a dedupe_key is meant as our
//       envelope, and a broken one is not mistaken for anything else.
//   M3. The identity of a record comes from the body alone; message attributes are not seen here.

import type { JsonObject, JsonValue } from "../../encoding/canonical-json.ts";
import { parseStrictJson } from "../../encoding/strict-json.ts";
import { NOTIFICATION_RECORDS_MAX, SNS_LAYERS_MAX } from "../../limits.ts";
import { type MessageEnvelope, validateEnvelope } from "../envelope.ts";
import { validateObjectEvent } from "../object-event-validation.ts";
import { asObject, memberOf, type Problem } from "../problem.ts";
import { decodeEventBridge, isEventBridgeEvent } from "./eventbridge.ts";
import { type DecodedRecord, decodeS3Record } from "./s3-notification.ts";
import { readSnsEnvelope, type SnsLayer } from "./sns-envelope.ts";
import { readTestEvent, type TestEvent } from "./test-event.ts";

type Content =
  | { readonly kind: "records"; readonly records: readonly DecodedRecord[] }
  | { readonly kind: "envelope"; readonly envelope: MessageEnvelope }
  | { readonly kind: "test-event"; readonly testEvent: TestEvent }
  | { readonly kind: "undecodable"; readonly problems: readonly Problem[] };

/** What a message tells, and the SNS envelopes it came in, outermost first. */
export type Decoded = Content & { readonly layers: readonly SnsLayer[] };

export interface DecodeOptions {
  /** The trace that the delivery belongs to, to be carried by its object events. */
  readonly traceId?: string | null;
}

/** Reads the body of one message. Problems of what SNS wrapped are placed within its text. */
export function decodeBody(body: string, options: DecodeOptions = {}): Decoded {
  const layers: SnsLayer[] = [];
  let text = body;
  let place = "";
  while (true) {
    const parsed = parseStrictJson(text);
    if (parsed.kind === "invalid") {
      const at = parsed.place === "the top" ? place : place + parsed.place;
      return { ...undecodable(at, `is no JSON we read: ${parsed.reason}`), layers };
    }
    const value = asObject(parsed.value);
    if (value === undefined) return { ...undecodable(place, "is no JSON object"), layers };
    const wrapped = readSnsEnvelope(value);
    if (wrapped === undefined) {
      return { ...decodeValue(value, place, options.traceId ?? null), layers };
    }
    if (wrapped.kind === "control") {
      const reason = `is a ${wrapped.type} of SNS, which has no place in a queue`;
      return { ...undecodable(`${place}/Type`, reason), layers };
    }
    if (layers.length === SNS_LAYERS_MAX) {
      return { ...undecodable(place, `is wrapped more than ${SNS_LAYERS_MAX} times`), layers };
    }
    layers.push(wrapped.layer);
    text = wrapped.message;
    place = `${place}/Message`;
  }
}

function decodeValue(value: JsonObject, place: string, traceId: string | null): Content {
  const testEvent = readTestEvent(value);
  if (testEvent !== undefined) return { kind: "test-event", testEvent };
  const records = memberOf(value, "Records");
  if (records !== undefined) return decodeRecords(records, `${place}/Records`, traceId);
  if (isEventBridgeEvent(value)) {
    return { kind: "records", records: [decodeEventBridge(value, place, traceId)] };
  }
  if (Object.hasOwn(value, "dedupe_key") || Object.hasOwn(value, "event_source")) {
    return decodeEnvelope(value, place); // M2
  }
  if (Object.hasOwn(value, "idempotency_key")) return decodeObjectEvent(value, place);
  return undecodable(
    place,
    "is neither an S3 notification, an EventBridge event nor an envelope with a dedupe_key",
  );
}

function decodeRecords(records: JsonValue, place: string, traceId: string | null): Content {
  if (!Array.isArray(records)) return undecodable(place, "is no array");
  const list: readonly JsonValue[] = records;
  if (list.length === 0) return undecodable(place, "is empty");
  if (list.length > NOTIFICATION_RECORDS_MAX) {
    return undecodable(place, `holds more than ${NOTIFICATION_RECORDS_MAX} records`);
  }
  return {
    kind: "records",
    records: list.map((record, index) => decodeS3Record(record, `${place}/${index}`, traceId)),
  };
}

function decodeObjectEvent(value: JsonObject, place: string): Content {
  const checked = validateObjectEvent(value);
  if (checked.kind === "invalid") return misplaced(checked.problems, place);
  return { kind: "records", records: [{ kind: "event", event: checked.value, original: value }] };
}

function decodeEnvelope(value: JsonObject, place: string): Content {
  const checked = validateEnvelope(value);
  if (checked.kind === "invalid") return misplaced(checked.problems, place);
  return { kind: "envelope", envelope: checked.value };
}

function misplaced(problems: readonly Problem[], place: string): Content {
  const moved = problems.map(({ path, reason }) => ({ path: place + path, reason }));
  return { kind: "undecodable", problems: moved };
}

function undecodable(path: string, reason: string): Content {
  return { kind: "undecodable", problems: [{ path, reason }] };
}
