// Strict JSON: parses external text without losing or inventing anything.
//   P1. Accepts RFC 8259 texts only, minus what I-JSON (RFC 7493) forbids: a duplicate name in one
//       object, and lone surrogates, whether written or escaped.
//   P2. A number that a double cannot represent is rejected: beyond 2^53 it must come back as
//       written, and it may neither overflow to infinity nor vanish to zero. Fractions are rounded
//       as usual.
//   P3. A rejection says where, by position in the value and by offset in the text.
// JSON.parse keeps the last of two equal names and rounds silently, so two readers of one message
// could disagree on its dedupe key.

import { describeTrail, JSON_DEPTH_MAX, type JsonValue } from "./canonical-json.ts";

export type StrictJson =
  | { readonly kind: "value"; readonly value: JsonValue }
  | {
      readonly kind: "invalid";
      readonly reason: string;
      /** JSON pointer of the value being read, or "the top". */
      readonly place: string;
      /** UTF-16 position in the text. */
      readonly offset: number;
    };

interface Reader {
  readonly text: string;
  at: number;
  readonly trail: (string | number)[];
}

/** Parses one JSON text; returns a reason, and does not throw, for what P1 and P2 forbid. */
export function parseStrictJson(text: string): StrictJson {
  const reader: Reader = { text, at: 0, trail: [] };
  try {
    const value = readValue(reader);
    skipSpace(reader);
    if (reader.at < text.length) throw new Refusal("text continues after its value");
    return { kind: "value", value };
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    const pointer = describeTrail(reader.trail);
    return { kind: "invalid", reason: error.message, place: pointer, offset: reader.at };
  }
}

/** Unwinds the reader; never leaves this file. */
class Refusal extends Error {}

function readValue(reader: Reader): JsonValue {
  skipSpace(reader);
  const code = reader.text.charCodeAt(reader.at);
  switch (code) {
    case 0x7b: // {
      return readObject(reader);
    case 0x5b: // [
      return readArray(reader);
    case 0x22: // "
      return readString(reader);
    case 0x74: // t
      return readWord(reader, "true", true);
    case 0x66: // f
      return readWord(reader, "false", false);
    case 0x6e: // n
      return readWord(reader, "null", null);
    default:
      if (code === 0x2d || (code >= 0x30 && code <= 0x39)) return readNumber(reader);
      throw new Refusal(Number.isNaN(code) ? "text ends too early" : "unexpected character");
  }
}

function readObject(reader: Reader): JsonValue {
  checkDepth(reader);
  const value: Record<string, JsonValue> = {};
  reader.at++;
  skipSpace(reader);
  if (takeIf(reader, "}")) return value;
  while (true) {
    skipSpace(reader);
    if (reader.text[reader.at] !== '"') throw new Refusal("expected a member name");
    const name = readString(reader);
    reader.trail.push(name);
    if (Object.hasOwn(value, name)) throw new Refusal("name is used twice"); // P1
    skipSpace(reader);
    if (!takeIf(reader, ":")) throw new Refusal("expected a colon");
    const member = readValue(reader);
    if (name === "__proto__") defineMember(value, name, member);
    else value[name] = member;
    reader.trail.pop();
    skipSpace(reader);
    if (takeIf(reader, "}")) return value;
    if (!takeIf(reader, ",")) throw new Refusal("expected a comma or the end of the object");
  }
}

/** Normal assignment to `__proto__` would change the object's prototype instead of its members. */
function defineMember(target: object, name: string, value: JsonValue): void {
  Object.defineProperty(target, name, {
    value,
    enumerable: true,
    configurable: true,
    writable: true,
  });
}

function readArray(reader: Reader): JsonValue {
  checkDepth(reader);
  const value: JsonValue[] = [];
  reader.at++;
  skipSpace(reader);
  if (takeIf(reader, "]")) return value;
  while (true) {
    reader.trail.push(value.length);
    value.push(readValue(reader));
    reader.trail.pop();
    skipSpace(reader);
    if (takeIf(reader, "]")) return value;
    if (!takeIf(reader, ",")) throw new Refusal("expected a comma or the end of the array");
  }
}

/** The trail grows by one per container, so its length is the depth. */
function checkDepth(reader: Reader): void {
  if (reader.trail.length >= JSON_DEPTH_MAX) {
    throw new Refusal(`nested deeper than ${JSON_DEPTH_MAX}`);
  }
}

function readString(reader: Reader): string {
  const { text } = reader;
  const start = reader.at + 1;
  let end = start;
  let escaped = false;
  for (; ; end++) {
    const code = text.charCodeAt(end);
    if (code === 0x22) break;
    if (code === 0x5c) {
      escaped = true;
      end++; // An escaped character is never the end of the string.
    } else if (!(code >= 0x20)) {
      reader.at = Math.min(end, text.length);
      throw new Refusal(end >= text.length ? "string has no end" : "control character in a string");
    }
  }
  const value = escaped ? unescapeString(reader, start, end) : text.slice(start, end);
  if (!value.isWellFormed()) throw new Refusal("lone surrogate in a string"); // P1
  reader.at = end + 1;
  return value;
}

/** The string is already delimited; JSON.parse handles its escapes and rejects invalid ones. */
function unescapeString(reader: Reader, start: number, end: number): string {
  try {
    return JSON.parse(reader.text.slice(start - 1, end + 1)) as string;
  } catch {
    throw new Refusal("bad escape in a string");
  }
}

const NUMBER = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y;

function readNumber(reader: Reader): number {
  NUMBER.lastIndex = reader.at;
  const match = NUMBER.exec(reader.text);
  if (match === null) throw new Refusal("malformed number");
  const written = match[0];
  const value = Number(written);
  if (!Number.isFinite(value)) throw new Refusal("number is too large for a double"); // P2
  if (Math.abs(value) > Number.MAX_SAFE_INTEGER && decimal(written) !== decimal(String(value))) {
    throw new Refusal("number loses digits as a double; send it as a string"); // P2
  }
  if (value === 0 && /^-?[0.]*[1-9]/.test(written)) {
    throw new Refusal("number is too small for a double"); // P2
  }
  reader.at += written.length;
  return value;
}

/** Significant digits and power of ten: equal for equal decimal values, however written. */
function decimal(written: string): string {
  const [mantissa = "", exponent = "0"] = written.replace(/^-/, "").toLowerCase().split("e");
  const [whole = "", fraction = ""] = mantissa.split(".");
  const digits = (whole + fraction).replace(/^0+/, "");
  const significant = withoutTrailingZeros(digits);
  const power = Number(exponent) - fraction.length + digits.length - significant.length;
  return `${significant}e${power}`;
}

/**
 * A loop, because a pattern would start again at each zero, and a number may be as long as its
 * text.
 */
function withoutTrailingZeros(digits: string): string {
  let end = digits.length;
  while (digits[end - 1] === "0") end--;
  return digits.slice(0, end);
}

function readWord<T extends JsonValue>(reader: Reader, word: string, value: T): T {
  if (!reader.text.startsWith(word, reader.at)) throw new Refusal("unexpected character");
  reader.at += word.length;
  return value;
}

function takeIf(reader: Reader, character: string): boolean {
  if (reader.text[reader.at] !== character) return false;
  reader.at++;
  return true;
}

function skipSpace(reader: Reader): void {
  for (; ; reader.at++) {
    const code = reader.text.charCodeAt(reader.at);
    if (code !== 0x20 && code !== 0x0a && code !== 0x0d && code !== 0x09) return;
  }
}
