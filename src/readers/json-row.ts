// JSON row: one text, or one value, that has to be a row.
//   JR1. Strict JSON only: a name used twice, or a whole number that a double cannot hold, is
//        refused with its place. JSON.parse would drop the one and round the other in silence.

import type { JsonValue } from "../core/encoding/canonical-json.ts";
import { parseStrictJson } from "../core/encoding/strict-json.ts";
import type { Row } from "../ports/rows.ts";
import { type FilePosition, unreadable } from "./unreadable.ts";

/** The row that `text` is; `line` is where it starts. */
export function parseRow(text: string, name: string, line: number): Row {
  const parsed = parseStrictJson(text);
  if (parsed.kind === "value") return asRow(parsed.value, name, { line });
  const place = parsed.place === "the top" ? "" : ` in ${parsed.place}`;
  const reason = `is no JSON: ${parsed.reason}${place}, at character ${parsed.offset + 1}`;
  throw unreadable(name, reason, { line });
}

export function asRow(value: JsonValue, name: string, place: FilePosition): Row {
  if (typeof value === "object" && value !== null && !isArray(value)) return value;
  throw unreadable(name, `a row is a JSON object, and this is ${kindOf(value)}`, place);
}

/** Array.isArray does not narrow readonly arrays. */
export function isArray(value: JsonValue): value is readonly JsonValue[] {
  return Array.isArray(value);
}

function kindOf(value: JsonValue): string {
  if (value === null) return "null";
  return isArray(value) ? "an array" : `a ${typeof value}`;
}
