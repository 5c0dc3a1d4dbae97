// JSON: one array of rows, or one row.
//   JS1. The document is parsed as a whole, so it has its own limit, and a message that names the
//        format without one.
//   JS2. Elements of the array are parsed one by one, so that the event loop gets its turn between
//        them. A document that is not a valid array is parsed in one piece, for its error or row.

import { Buffer } from "node:buffer";
import type { JsonValue } from "../core/encoding/canonical-json.ts";
import { parseStrictJson } from "../core/encoding/strict-json.ts";
import type { NumberedRow } from "../ports/rows.ts";
import { asRow, isArray } from "./json-row.ts";
import { describeBytes, type RowLimits } from "./row-limits.ts";
import type { TimeSlice } from "./time-slice.ts";
import { unreadable } from "./unreadable.ts";

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

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
    rows.push({ line, value: asRow(item, name, { row: line }) });
  }
  yield rows;
}

/** Parses the elements of an array one by one (JS2); null for anything else, invalid JSON too. */
async function parseElements(
  document: string,
  slice: TimeSlice,
): Promise<readonly JsonValue[] | null> {
  const values: JsonValue[] = [];
  for (const element of elementsOf(document)) {
    const parsed = element === null ? null : parseStrictJson(element);
    if (parsed === null || parsed.kind === "invalid") return null;
    values.push(parsed.value);
    if (slice.isOver()) await slice.next();
  }
  return values;
}

/** The texts between the brackets and commas of an array; null once there is no such array. */
function* elementsOf(document: string): Generator<string | null> {
  const open = document.search(/[^ \t\r\n]/);
  if (document[open] !== "[" || /^[ \t\r\n]*\]/.test(document.slice(open + 1, open + 65))) {
    yield null;
    return;
  }
  const marks = /["[\]{},]/g;
  let start = open + 1;
  let depth = 0;
  marks.lastIndex = start;
  for (let mark = marks.exec(document); mark !== null; mark = marks.exec(document)) {
    const [character] = mark;
    if (character === '"') marks.lastIndex = endOfText(document, mark.index);
    else if (character === "[" || character === "{") depth++;
    else if (depth > 0) depth -= character === "," ? 0 : 1;
    else {
      yield document.slice(start, mark.index);
      start = mark.index + 1;
      if (character !== ",") break;
    }
  }
  const whole = document[start - 1] === "]" && document.slice(start).trim() === "";
  if (!whole) yield null;
}

/** The position behind the string that starts at `start`. */
function endOfText(document: string, start: number): number {
  for (let at = start + 1; at < document.length; at++) {
    const code = document.charCodeAt(at);
    if (code === BACKSLASH) at++;
    else if (code === QUOTE) return at + 1;
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
