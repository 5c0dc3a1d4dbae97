// JSON row: parses one text, or checks one value, that has to be a row.
//   JR1. Strict JSON only: a duplicate name, or a whole number that a double cannot represent, is
//        rejected with its position. JSON.parse would silently drop the one and round the other.

import type { JsonValue } from "../core/encoding/canonical-json.ts";
import { parseStrictJson } from "../core/encoding/strict-json.ts";
import type { Row } from "../ports/rows.ts";
import { type FilePosition, unreadable } from "./unreadable.ts";

/** Parses a row that starts on `line`. */
export function parseRow(text: string, name: string, line: number): Row {
  const parsed = parseStrictJson(text);
  if (parsed.kind === "value") return asRow(parsed.value, name, { line });
  const where = parsed.place === "the top" ? "" : ` in ${parsed.place}`;
  const reason = `is not JSON: ${parsed.reason}${where}, at character ${parsed.offset + 1}`;
  throw unreadable(name, reason, { line });
}

export function asRow(value: JsonValue, name: string, position: FilePosition): Row {
  if (typeof value === "object" && value !== null && !isArray(value)) return value;
  throw unreadable(name, `a row must be a JSON object, not ${kindOf(value)}`, position);
}

/** Array.isArray does not narrow readonly arrays. */
export function isArray(value: JsonValue): value is readonly JsonValue[] {
  return Array.isArray(value);
}

function kindOf(value: JsonValue): string {
  if (value === null) return "null";
  return isArray(value) ? "an array" : `a ${typeof value}`;
}
