// Record mask: hides the masked values of a record in logs, dossiers and reports.
//   K1. The paths of `mask` apply to the record as it arrived. In addition, "object.bucket" and
//       "object.key" name the object of an event from any source: S3, SNS and EventBridge each have
//       it at another path.
//   K2. A masked key is also hidden in the form that S3 writes in events, with a plus sign for a
//       space and percent-encoding for other characters.
//   K3. A masked value is removed from every text that quotes it, including the object's key.
//   K4. No path finds anything in a body that could not be read. So a pipeline with masks hides it
//       as a whole, and with it what user code that failed on it says (`detail`). The same holds for
//       a body that the pipeline's own function decoded: `original` is text, the paths are of the
//       value.

import type { JsonObject, JsonValue } from "../../core/encoding/canonical-json.ts";
import type { Mask } from "../../core/encoding/mask.ts";
import {
  HIDDEN_BODY,
  HIDDEN_FORM,
  MASKED,
  Secrets,
  type SecretValues,
} from "../../core/encoding/secrets.ts";
import { asObject } from "../../core/events/problem.ts";
import type { WorkRecord } from "../stages/decode.ts";

export interface RecordMask {
  /** The values that no text about the record may contain. */
  secretsOf(record: WorkRecord): readonly string[];
  /** The masked object; `secrets` are those of `secretsOf` and any further ones. */
  objectOf(record: WorkRecord, secrets: SecretValues): ShownObject | null;
  /** The masked business key; null if the record has none (K3). */
  businessKeyOf(record: WorkRecord, secrets: SecretValues): string | null;
  /** The record as it arrived, masked; a sentence if it is hidden as a whole (K4). */
  payloadOf(record: WorkRecord): JsonValue;
  /** The values of the record, to which those of its rows are added while it is handled. */
  begin(record: WorkRecord): Secrets;
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

  function secretsOf(record: WorkRecord): readonly string[] {
    if (mask.isEmpty) return [];
    const decoded = decodedBody(record);
    const own = [
      ...mask.secretsOf(record.original),
      ...(decoded === null ? [] : mask.secretsOf(decoded)),
    ];
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
        return mask.name(String(text), secrets); // K3
      };
      return { bucket: shown("bucket"), key: shown("key") };
    },
    businessKeyOf({ businessKey }, secrets) {
      return businessKey === null ? null : mask.name(businessKey, secrets);
    },
    begin: (record) => new Secrets(secretsOf(record)),
    payloadOf(record) {
      const payload = mask.value(record.original);
      const text = mask.isEmpty ? null : unreadText(record, payload);
      if (text !== null) return isJson(text) ? HIDDEN_FORM : HIDDEN_BODY; // K4
      const secrets = objectSecrets(record);
      return secrets.length === 0 ? payload : scrubbed(payload, (text) => mask.text(text, secrets));
    },
  };
}

/** What the pipeline's own function made of a body, if paths can apply to it (K4). */
function decodedBody({ content, original }: WorkRecord): JsonValue {
  const body = content.kind === "own" ? content.input.body : null;
  if (body === null || typeof body !== "object" || body === original) return null;
  return ArrayBuffer.isView(body) ? null : (body as JsonValue);
}

/** The text of a body that no path applies to; null if paths apply, or hide it already (K4). */
function unreadText(record: WorkRecord, payload: JsonValue): string | null {
  if (record.content.kind !== "unusable" && decodedBody(record) === null) return null;
  if (typeof payload === "string") return payload;
  const [[name, body] = [], ...others] = Object.entries(asObject(payload) ?? {});
  const isText = name === "body" && others.length === 0 && typeof body === "string";
  return isText && body !== MASKED ? body : null;
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
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
