// Record mask: what of a record nobody may see, wherever it is told of.
//   K1. The paths of `mask` are held against the record as it came. The object of an event is named
//       "object.bucket" and "object.key" besides, whichever way the event took: S3, SNS and
//       EventBridge each put it somewhere else.
//   K2. A key that is hidden is hidden as S3 writes it in an event as well, where blanks are plus
//       signs and other characters percent signs and digits.
//   K3. What a hidden value is quoted in is scrubbed of it, an object's key like any other text.

import type { JsonObject, JsonValue } from "../../core/encoding/canonical-json.ts";
import type { Mask } from "../../core/encoding/mask.ts";
import type { WorkRecord } from "../stages/decode.ts";

export interface RecordMask {
  /** What is not to be found in any text about the record. */
  secretsOf(record: WorkRecord): string[];
  /** The object as it may be shown; `secrets` are those of above and any more. */
  objectOf(record: WorkRecord, secrets: readonly string[]): ShownObject | null;
  /** The record as it came, as it may be shown. */
  payloadOf(record: WorkRecord): JsonValue;
}

export interface ShownObject {
  readonly bucket: string;
  readonly key: string;
}

export function createRecordMask(mask: Mask): RecordMask {
  /** How the object is written where it is hidden; nothing where it is not (K2). */
  function objectSecrets({ object, original }: WorkRecord): string[] {
    if (object === null) return [];
    const { bucket, key } = object;
    const hidden = new Set(mask.secretsOf({ object: { bucket, key } })); // K1
    if (hidden.size === 0) return [];
    return [...hidden, ...textsIn(original).filter((text) => hidden.has(decodeForm(text)))];
  }

  function secretsOf(record: WorkRecord): string[] {
    const own = mask.secretsOf(record.original);
    if (record.object === null || own.length === 0) return [...own, ...objectSecrets(record)];
    return [...own, ...own.map(decodeForm), ...objectSecrets(record)]; // K2
  }

  return {
    secretsOf,
    objectOf({ object }, secrets) {
      if (object === null) return null;
      const { bucket, key } = object;
      const whole = mask.value({ object: { bucket, key } }) as JsonObject;
      const shown = (name: "bucket" | "key") => {
        const { object: left } = whole;
        const text = left !== null && typeof left === "object" ? (left as JsonObject)[name] : left;
        return mask.text(String(text), secrets); // K3
      };
      return { bucket: shown("bucket"), key: shown("key") };
    },
    payloadOf(record) {
      const payload = mask.value(record.original);
      const secrets = objectSecrets(record);
      return secrets.length === 0 ? payload : scrubbed(payload, (text) => mask.text(text, secrets));
    },
  };
}

/** A key as it is, of one as S3 writes it in an event. */
function decodeForm(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll("+", " "));
  } catch {
    return text; // It is not written so.
  }
}

function textsIn(json: JsonValue): string[] {
  const found: string[] = [];
  const open: JsonValue[] = [json];
  for (let value = open.pop(); value !== undefined; value = open.pop()) {
    if (typeof value === "string") found.push(value);
    else if (value !== null && typeof value === "object") {
      for (const member of Object.values(value as JsonObject)) open.push(member);
    }
  }
  return found;
}

/** The same value with all its texts changed; an event is nested only a few levels deep. */
function scrubbed(json: JsonValue, change: (text: string) => string): JsonValue {
  if (typeof json === "string") return change(json);
  if (json === null || typeof json !== "object") return json;
  if (Array.isArray(json)) return json.map((item: JsonValue) => scrubbed(item, change));
  return Object.fromEntries(
    Object.entries(json as JsonObject).map(([name, value]) => [name, scrubbed(value, change)]),
  );
}
