// Copy text: rows in the text format that PostgreSQL's COPY reads.

import type { SinkValue } from "../../../core/sink-write.ts";
import { hexText } from "../row-values.ts";
import type { PlannedRow } from "../rows.ts";

const SPECIAL = /[\\\t\n\r]/;
const ESCAPES: Readonly<Record<string, string>> = {
  "\\": "\\\\",
  "\t": "\\t",
  "\n": "\\n",
  "\r": "\\r",
};

export function copyTextOf(rows: readonly PlannedRow[]): string {
  let text = "";
  for (const { values } of rows) {
    const last = values.length - 1;
    for (let at = 0; at < last; at += 1) text += `${fieldOf(values[at] ?? null)}\t`;
    text += `${values[last]}\n`;
  }
  return text;
}

function fieldOf(value: SinkValue): string | number | bigint {
  if (value === null) return "\\N";
  if (value instanceof Uint8Array) return `\\${hexText(value)}`;
  if (typeof value !== "string" || !SPECIAL.test(value)) return value;
  return value.replace(/[\\\t\n\r]/g, (character) => ESCAPES[character] ?? character);
}
