// Parquet values: converts the values of a column to JSON (RW2).
//   PV1. Values stay exact: an int64 outside the safe range, and every DECIMAL, is a decimal
//        string; times keep the digits of their unit.
//   PV2. A time that is not adjusted to UTC gets no Z, which would change its meaning.
//   PV3. Bytes without a text annotation are base64, even if they look like text: the type of a
//        value must not depend on the value.
//   PV4. NaN and infinities are null, as in every JSON writer.

import { Buffer } from "node:buffer";
import type { ParquetParsers, SchemaElement, SchemaTree } from "hyparquet";
import type { JsonValue } from "../core/encoding/canonical-json.ts";
import { formatInstant } from "../core/encoding/rfc3339.ts";
import { parseStrictJson } from "../core/encoding/strict-json.ts";
import { epochMs } from "../core/units.ts";

export type Convert = (value: unknown) => JsonValue;

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** hyparquet parses what needs no schema; instants stay numbers. */
export const RAW_PARSERS: Partial<ParquetParsers> = {
  timestampFromMilliseconds: (value) => value,
  timestampFromMicroseconds: (value) => value,
  timestampFromNanoseconds: (value) => value,
  dateFromDays: (value) => value,
  // A missing value stays undefined; the row check finds it.
  stringFromBytes: (bytes?: Uint8Array) => bytes && utf8.decode(bytes),
  jsonFromBytes: (bytes?: Uint8Array) => bytes && parseJson(utf8.decode(bytes)),
  geometryFromBytes: (bytes) => bytes,
  geographyFromBytes: (bytes) => bytes,
};

/** DECIMAL without its annotation: hyparquet would turn it into a double (PV1). */
export function withoutDecimals(element: SchemaElement): SchemaElement {
  if (element.converted_type !== "DECIMAL") return element;
  const { converted_type: _, ...rest } = element;
  return rest;
}

/** Returns the conversion of values under `node`; nested lists are converted recursively. */
export function convertOf(node: SchemaTree): Convert {
  const inner = node.children.length === 0 ? leafOf(node.element) : groupOf(node);
  return function convert(value: unknown): JsonValue {
    if (value === null || value === undefined) return null;
    return Array.isArray(value) ? value.map(convert) : inner(value);
  };
}

function groupOf(node: SchemaTree): Convert {
  const { element, children } = node;
  const [repeated] = children;
  if (element.logical_type?.type === "VARIANT") {
    throw new Error(`column ${element.name} is a VARIANT, which is not supported`);
  }
  if (repeated !== undefined && children.length === 1) {
    const [first, second] = repeated.children;
    if (element.converted_type === "LIST" && second === undefined)
      return convertOf(first ?? repeated);
    if (element.converted_type === "MAP" && second !== undefined)
      return recordOf(convertOf(second));
  }
  const members = children.map((child) => [child.element.name, convertOf(child)] as const);
  return (value) => {
    const struct = value as Readonly<Record<string, unknown>>;
    return Object.fromEntries(members.map(([name, convert]) => [name, convert(struct[name])]));
  };
}

function recordOf(convert: Convert): Convert {
  return (value) =>
    Object.fromEntries(Object.entries(value as object).map(([key, item]) => [key, convert(item)]));
}

function leafOf(element: SchemaElement): Convert {
  const { type, converted_type: converted, logical_type: logical } = element;
  if (logical?.type === "DECIMAL") return (value) => decimal(value, logical.scale);
  if (converted === "DECIMAL") return (value) => decimal(value, element.scale ?? 0);
  if (logical?.type === "TIMESTAMP") {
    const zone = logical.isAdjustedToUTC ? "Z" : ""; // PV2
    return (value) => instant(value, DIGITS[logical.unit]) + zone;
  }
  if (logical?.type === "TIME") return (value) => timeOfDay(value, DIGITS[logical.unit]);
  if (converted === "TIMESTAMP_MILLIS") return (value) => `${instant(value, 3)}Z`;
  if (converted === "TIMESTAMP_MICROS") return (value) => `${instant(value, 6)}Z`;
  if (converted === "TIME_MILLIS") return (value) => timeOfDay(value, 3);
  if (converted === "TIME_MICROS") return (value) => timeOfDay(value, 6);
  if (converted === "DATE" || logical?.type === "DATE") return date;
  if (type === "INT96") return (value) => `${instant(value, 9)}Z`;
  if (converted === "ENUM" || logical?.type === "ENUM") return text;
  return plain;
}

const DIGITS = { MILLIS: 3, MICROS: 6, NANOS: 9 } as const;

function plain(value: unknown): JsonValue {
  switch (typeof value) {
    case "bigint":
      return isSafe(value) ? Number(value) : String(value); // PV1
    case "number":
      return Number.isFinite(value) ? value : null; // PV4
    default:
      return value instanceof Uint8Array ? base64(value) : (value as JsonValue);
  }
}

function isSafe(value: bigint): boolean {
  return value >= Number.MIN_SAFE_INTEGER && value <= Number.MAX_SAFE_INTEGER;
}

function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("base64"); // PV3
}

function text(value: unknown): JsonValue {
  return value instanceof Uint8Array ? utf8.decode(value) : plain(value);
}

function decimal(value: unknown, scale: number): string {
  const unscaled = value instanceof Uint8Array ? signedBigEndian(value) : BigInt(value as number);
  const digits = String(unscaled < 0n ? -unscaled : unscaled).padStart(scale + 1, "0");
  const whole = digits.slice(0, digits.length - scale);
  const fraction = scale > 0 ? `.${digits.slice(digits.length - scale)}` : "";
  return `${unscaled < 0n ? "-" : ""}${whole}${fraction}`;
}

function signedBigEndian(bytes: Uint8Array): bigint {
  if (bytes.length === 0) return 0n;
  const hex = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("hex");
  return BigInt.asIntN(bytes.length * 8, BigInt(`0x${hex}`));
}

/** Without a zone; `digits` of a second is the unit that `value` counts. */
function instant(value: unknown, digits: 3 | 6 | 9): string {
  const count = BigInt(value as number);
  const perMs = 10n ** BigInt(digits - 3);
  const rest = ((count % perMs) + perMs) % perMs;
  const inMs = formatInstant(epochMs(Number((count - rest) / perMs))).slice(0, -1);
  return digits === 3 ? inMs : inMs + String(rest).padStart(digits - 3, "0");
}

function timeOfDay(value: unknown, digits: 3 | 6 | 9): string {
  const at = instant(value, digits);
  if (!at.startsWith("1970-01-01T")) throw new Error(`${value} is not a time of day`);
  return at.slice("1970-01-01T".length);
}

function date(value: unknown): string {
  return formatInstant(epochMs((value as number) * 86_400_000)).slice(0, "1970-01-01".length);
}

function parseJson(source: string): JsonValue {
  const parsed = parseStrictJson(source);
  if (parsed.kind === "value") return parsed.value;
  throw new Error(`a cell of a JSON column is not JSON: ${parsed.reason}`);
}
