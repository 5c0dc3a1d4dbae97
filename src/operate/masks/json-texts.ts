// JSON texts: the texts inside of a JSON value, read and changed.

import type { JsonObject, JsonValue } from "../../core/encoding/canonical-json.ts";
import { MASKED } from "../../core/encoding/secrets.ts";

const UNWRAP_DEPTH_MAX = 64;

/** The JSON in a text, with the JSON in its texts; null if it is not JSON. */
export function jsonIn(text: string): JsonValue {
  try {
    return unwrapped(JSON.parse(text) as JsonValue);
  } catch {
    return null;
  }
}

/** The value with the JSON in its texts; hidden where it is deeper than UNWRAP_DEPTH_MAX. */
export function unwrapped(json: JsonValue, depth = 0): JsonValue {
  if (depth > UNWRAP_DEPTH_MAX) return MASKED;
  if (typeof json === "string") {
    const inner = /^\s*[[{]/.test(json) ? parsed(json) : null;
    return inner === null ? json : unwrapped(inner, depth + 1);
  }
  if (json === null || typeof json !== "object") return json;
  if (Array.isArray(json)) return json.map((item: JsonValue) => unwrapped(item, depth + 1));
  const members = Object.entries(json as JsonObject);
  return Object.fromEntries(members.map(([name, value]) => [name, unwrapped(value, depth + 1)]));
}

function parsed(text: string): JsonValue {
  try {
    return JSON.parse(text) as JsonValue;
  } catch {
    return null;
  }
}

/** Whether the body in the value is JSON, and not a text: of a message, or of a notification. */
export function hasJsonBody(json: JsonValue): boolean {
  if (json === null || typeof json !== "object") return false;
  const { Type: type, Message: message = null } = json as JsonObject;
  return type !== "Notification" || hasJsonBody(message);
}

/** The same for the payload of a record, where a text that is not JSON is a lone `body`. */
export function hasJsonPayload(payload: JsonValue): boolean {
  if (!hasJsonBody(payload)) return false;
  const [[name, body = null] = [], ...others] = Object.entries(payload as JsonObject);
  return name !== "body" || others.length > 0 || hasJsonBody(body);
}

/** Changes all texts in a value that is not deeper than that of `unwrapped`. */
export function scrubTexts(json: JsonValue, change: (text: string) => string): JsonValue {
  if (typeof json === "string") return change(json);
  if (json === null || typeof json !== "object") return json;
  if (Array.isArray(json)) return json.map((item: JsonValue) => scrubTexts(item, change));
  const members = Object.entries(json as JsonObject);
  return Object.fromEntries(members.map(([name, value]) => [name, scrubTexts(value, change)]));
}
