// Record mask: hides the masked values of a record in logs, dossiers and reports.
//   K1. The paths of `mask` apply to the record as it arrived. In addition, "object.bucket" and
//       "object.key" name the object of an event from any source: S3, SNS and EventBridge each have
//       it at another path.
//   K2. A masked key is also hidden in the form that S3 writes in events, with a plus sign for a
//       space and percent-encoding for other characters.
//   K3. A masked value is removed from every text that quotes it, including the object's key.

import type { JsonObject, JsonValue } from "../../core/encoding/canonical-json.ts";
import type { Mask } from "../../core/encoding/mask.ts";
import type { WorkRecord } from "../stages/decode.ts";

export interface RecordMask {
  /** The values that no text about the record may contain. */
  secretsOf(record: WorkRecord): string[];
  /** The masked object; `secrets` are those of `secretsOf` and any further ones. */
  objectOf(record: WorkRecord, secrets: readonly string[]): ShownObject | null;
  /** The masked business key; null if the record has none (K3). */
  businessKeyOf(record: WorkRecord, secrets: readonly string[]): string | null;
  /** The record as it arrived, masked. */
  payloadOf(record: WorkRecord): JsonValue;
}

export interface ShownObject {
  readonly bucket: string;
  readonly key: string;
}

export function createRecordMask(mask: Mask): RecordMask {
  /** The object's masked values in every form in which they occur; empty if none is masked (K2). */
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
        const { object: masked } = whole;
        const visible = masked !== null && typeof masked === "object";
        const text = visible ? (masked as JsonObject)[name] : masked;
        return mask.text(String(text), secrets); // K3
      };
      return { bucket: shown("bucket"), key: shown("key") };
    },
    businessKeyOf({ businessKey }, secrets) {
      return businessKey === null ? null : mask.text(businessKey, secrets);
    },
    payloadOf(record) {
      const payload = mask.value(record.original);
      const secrets = objectSecrets(record);
      return secrets.length === 0 ? payload : scrubbed(payload, (text) => mask.text(text, secrets));
    },
  };
}

/** Decodes a key from the form that S3 writes in events (K2). */
export function decodeForm(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll("+", " "));
  } catch {
    return text; // It is not encoded.
  }
}

function textsIn(json: JsonValue): string[] {
  const texts: string[] = [];
  const open: JsonValue[] = [json];
  for (let value = open.pop(); value !== undefined; value = open.pop()) {
    if (typeof value === "string") texts.push(value);
    else if (value !== null && typeof value === "object") {
      for (const member of Object.values(value as JsonObject)) open.push(member);
    }
  }
  return texts;
}

/** Changes all texts in a value; recursion is safe, because events have only a few levels. */
function scrubbed(json: JsonValue, change: (text: string) => string): JsonValue {
  if (typeof json === "string") return change(json);
  if (json === null || typeof json !== "object") return json;
  if (Array.isArray(json)) return json.map((item: JsonValue) => scrubbed(item, change));
  return Object.fromEntries(
    Object.entries(json as JsonObject).map(([name, value]) => [name, scrubbed(value, change)]),
  );
}
