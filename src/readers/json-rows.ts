// JSON: one array of rows, or one row.
//   JS1. The document is parsed as a whole, so it has its own limit, and a message that names the
//        format without one.
//   JS2. Elements of the array are parsed in pieces, so that the event loop gets its turn between
//        them. A document that is not a valid array is parsed in one piece, for its error or row.

import { Buffer } from "node:buffer";
import type { JsonValue } from "../core/encoding/canonical-json.ts";
import { parseStrictJson } from "../core/encoding/strict-json.ts";
import type { NumberedRow } from "../ports/rows.ts";
import { asRow, isArray } from "./json-row.ts";
import { describeBytes, type RowLimits } from "./row-limits.ts";
import type { TimeSlice } from "./time-slice.ts";
import { unreadable } from "./unreadable.ts";

/** Characters after which a piece of an array ends with its element. */
const PIECE_LENGTH = 2_048;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const BRACKET = 0x5b;
const BRACKET_END = 0x5d;
const BRACE = 0x7b;
const BRACE_END = 0x7d;

export interface JsonSettings {
  readonly name: string;
  readonly limits: RowLimits;
  readonly slice: TimeSlice;
}

export async function* jsonRows(
  text: AsyncIterable<Buffer>,
  { name, limits, slice }: JsonSettings,
): AsyncGenerator<readonly NumberedRow[]> {
  const document = await readWhole(text, name, limits);
  if (slice.isOver()) await slice.next();
  if (document.trim() === "") return;
  const values = (await parseElements(document, slice)) ?? parseWhole(document, name);
  const rows: NumberedRow[] = [];
  for (const [index, item] of values.entries()) {
    const line = index + 1;
    rows.push({ line, value: asRow(item, name, { row: line }), unit: "row" });
  }
  yield rows;
}

/** Parses the elements of an array piece by piece (JS2); null if it is not a valid array. */
async function parseElements(
  document: string,
  slice: TimeSlice,
): Promise<readonly JsonValue[] | null> {
  const values: JsonValue[] = [];
  for (const piece of piecesOf(document)) {
    // Without an element, a piece follows a comma or stands in an empty array.
    const parsed = piece === null || piece.trim() === "" ? null : parseStrictJson(`[${piece}]`);
    if (parsed === null || parsed.kind === "invalid" || !isArray(parsed.value)) return null;
    for (const value of parsed.value) values.push(value);
    if (slice.isOver()) await slice.next();
  }
  return values;
}

/** The elements of an array, some at a time, with their commas; null if it is not an array. */
function* piecesOf(document: string): Generator<string | null> {
  const open = document.search(/[^ \t\r\n]/);
  if (document[open] !== "[") {
    yield null;
    return;
  }
  let start = open + 1;
  let depth = 0;
  for (let at = start; at < document.length; at++) {
    const code = document.charCodeAt(at);
    if (code === QUOTE) at = endOfText(document, at);
    else if (code === BRACKET || code === BRACE) depth++;
    else if (code === BRACKET_END || code === BRACE_END) depth--;
    const ends = depth < 0 || (depth === 0 && code === COMMA && at - start >= PIECE_LENGTH);
    if (!ends) continue;
    yield document.slice(start, at);
    start = at + 1;
    if (code !== COMMA) break;
  }
  const whole = document[start - 1] === "]" && /^[ \t\r\n]*$/.test(document.slice(start));
  if (!whole) yield null;
}

/** The position of the quote that ends the string at `start`. */
function endOfText(document: string, start: number): number {
  for (let at = start + 1; at < document.length; at++) {
    const code = document.charCodeAt(at);
    if (code === BACKSLASH) at++;
    else if (code === QUOTE) return at;
  }
  return document.length;
}

function parseWhole(document: string, name: string): readonly JsonValue[] {
  const parsed = parseStrictJson(document);
  if (parsed.kind === "invalid") throw invalidJson(name, document, parsed);
  return isArray(parsed.value) ? parsed.value : [parsed.value];
}

async function readWhole(
  text: AsyncIterable<Buffer>,
  name: string,
  limits: RowLimits,
): Promise<string> {
  const chunks: Buffer[] = [];
  let total = 0;
  for await (const chunk of text) {
    total += chunk.length;
    if (total > limits.jsonBytesMax) {
      const max = describeBytes(limits.jsonBytesMax);
      const reason = `JSON is parsed as a whole and may have ${max}; JSON Lines may have more`;
      throw unreadable(name, reason); // JS1
    }
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

function invalidJson(
  name: string,
  document: string,
  failure: { readonly reason: string; readonly place: string; readonly offset: number },
) {
  const { reason, offset } = failure;
  const line = document.slice(0, offset).split("\n").length;
  const where = failure.place === "the top" ? "" : ` in ${failure.place}`;
  // Many writers name their JSON Lines .json, so the message suggests that.
  const lines = reason.endsWith("after its value") && document.trimStart().startsWith("{");
  const advice = lines ? '; if it is JSON Lines, read it with the format "jsonl"' : "";
  return unreadable(name, `is not JSON: ${reason}${where}${advice}`, { line });
}
