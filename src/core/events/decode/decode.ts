// Decode: from the body of a message to its content. Shapes are recognised by their fields, never
// by the queue they came through: S3, SNS, EventBridge and Tidegate may feed the same queue.
//   M1. Bad input never throws and nothing is dropped: an unreadable part is "undecodable", with
//       its path and reason, for the dead-letter queue to show.
//   M2. A recognised shape must follow its rules. A body with a dedupe_key is meant as an envelope,
//       and a broken one is not mistaken for anything else.
//   M3. The identity of a record comes from the body alone; message attributes are not visible
//       here.

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

/** The content of a message, and the SNS envelopes around it, outermost first. */
export type Decoded = Content & { readonly layers: readonly SnsLayer[] };

export interface DecodeOptions {
  /** The trace of the delivery, which its object events pass on. */
  readonly traceId?: string | null;
}

/**
 * Decodes the body of one message. Paths of problems inside an SNS envelope are relative to its
 * text.
 */
export function decodeBody(body: string, options: DecodeOptions = {}): Decoded {
  const layers: SnsLayer[] = [];
  let text = body;
  let pointer = "";
  while (true) {
    const parsed = parseStrictJson(text);
    if (parsed.kind === "invalid") {
      const at = parsed.place === "the top" ? pointer : pointer + parsed.place;
      return { ...undecodable(at, `is not valid JSON: ${parsed.reason}`), layers };
    }
    const value = asObject(parsed.value);
    if (value === undefined) return { ...undecodable(pointer, "is not a JSON object"), layers };
    const wrapped = readSnsEnvelope(value);
    if (wrapped === undefined) {
      return { ...decodeValue(value, pointer, options.traceId ?? null), layers };
    }
    if (wrapped.kind === "control") {
      const reason = `is a ${wrapped.type} of SNS, which does not belong in a queue`;
      return { ...undecodable(`${pointer}/Type`, reason), layers };
    }
    if (layers.length === SNS_LAYERS_MAX) {
      return { ...undecodable(pointer, `is wrapped more than ${SNS_LAYERS_MAX} times`), layers };
    }
    layers.push(wrapped.layer);
    text = wrapped.message;
    pointer = `${pointer}/Message`;
  }
}

function decodeValue(value: JsonObject, pointer: string, traceId: string | null): Content {
  const testEvent = readTestEvent(value);
  if (testEvent !== undefined) return { kind: "test-event", testEvent };
  const records = memberOf(value, "Records");
  if (records !== undefined) return decodeRecords(records, `${pointer}/Records`, traceId);
  if (isEventBridgeEvent(value)) {
    return { kind: "records", records: [decodeEventBridge(value, pointer, traceId)] };
  }
  if (Object.hasOwn(value, "dedupe_key") || Object.hasOwn(value, "event_source")) {
    return decodeEnvelope(value, pointer); // M2
  }
  if (Object.hasOwn(value, "idempotency_key")) return decodeObjectEvent(value, pointer);
  return undecodable(
    pointer,
    "is neither an S3 notification, an EventBridge event nor an envelope with a dedupe_key",
  );
}

function decodeRecords(records: JsonValue, pointer: string, traceId: string | null): Content {
  if (!Array.isArray(records)) return undecodable(pointer, "is not an array");
  const list: readonly JsonValue[] = records;
  if (list.length === 0) return undecodable(pointer, "is empty");
  if (list.length > NOTIFICATION_RECORDS_MAX) {
    return undecodable(pointer, `contains more than ${NOTIFICATION_RECORDS_MAX} records`);
  }
  return {
    kind: "records",
    records: list.map((record, index) => decodeS3Record(record, `${pointer}/${index}`, traceId)),
  };
}

function decodeObjectEvent(value: JsonObject, pointer: string): Content {
  const checked = validateObjectEvent(value);
  if (checked.kind === "invalid") return misplaced(checked.problems, pointer);
  return { kind: "records", records: [{ kind: "event", event: checked.value, original: value }] };
}

function decodeEnvelope(value: JsonObject, pointer: string): Content {
  const checked = validateEnvelope(value);
  if (checked.kind === "invalid") return misplaced(checked.problems, pointer);
  return { kind: "envelope", envelope: checked.value };
}

function misplaced(problems: readonly Problem[], pointer: string): Content {
  const moved = problems.map(({ path, reason }) => ({ path: pointer + path, reason }));
  return { kind: "undecodable", problems: moved };
}

function undecodable(path: string, reason: string): Content {
  return { kind: "undecodable", problems: [{ path, reason }] };
}
