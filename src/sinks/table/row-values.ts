// Row values: which values a column accepts, and what the database gets for them. Databases differ
// on the rest (SQLite stores text in a number column, PostgreSQL rejects NUL in text), so the sink
// rejects it first.
//   V1. Equal values have one form, so that a key compares in every database: -0 is 0, decimals
//       have no idle zeros, timestamps are in UTC.
//   V2. Nothing is rounded: a value that does not fit is rejected.

import { unreachable } from "../../core/assert.ts";
import { formatInstant, parseInstant } from "../../core/encoding/rfc3339.ts";
import type { SinkValue } from "../../core/sink-write.ts";
import { parseColumnType, type TypeFacts } from "../../core/table-spec.ts";

/** Why a column rejects a value; the caller adds the position. */
export class ValueProblem extends Error {
  override readonly name = "ValueProblem";
}

/** "native" passes a value of an existing column to its database, which knows the type. */
export type ValueType = TypeFacts | "native";

const BIGINT_MIN = -(2n ** 63n);
const BIGINT_MAX = 2n ** 63n - 1n;
const DECIMAL = /^([+-]?)0*(\d*?)(?:\.(\d*?)0*)?$/;
const INTEGER = /^[+-]?\d{1,20}$/;
const UUID = /^[0-9a-f]{8}-?([0-9a-f]{4}-?){3}[0-9a-f]{12}$/i;
const DATE = /^\d{4}-\d{2}-\d{2}$/;

export type EncodeValue = (value: unknown) => SinkValue;

/** What the database gets for a value; throws ValueProblem. Null stays null. */
export function valueEncoder(type: ValueType): EncodeValue {
  const encode = encoderOf(type);
  return (value) => (value === null || value === undefined ? null : encode(value));
}

function encoderOf(type: ValueType): EncodeValue {
  if (type === "native") return nativeValue;
  if (type.isArray) {
    const element = scalarEncoder({ ...type, isArray: false });
    return (value) => arrayValue(value, element);
  }
  return scalarEncoder(type);
}

function scalarEncoder({ scalar, digits }: TypeFacts): EncodeValue {
  switch (scalar) {
    case "text":
      return textValue;
    case "integer":
      return integerValue;
    case "bigint":
      return bigintValue;
    case "decimal":
      return (value) => decimalValue(value, digits);
    case "real":
      return realValue;
    case "boolean":
      return booleanValue;
    case "date":
      return dateValue;
    case "timestamp":
      return timestampValue;
    case "json":
      return jsonValue;
    case "bytes":
      return bytesValue;
    case "uuid":
      return uuidValue;
    default:
      return unreachable(scalar);
  }
}

function textValue(value: unknown): string {
  if (typeof value !== "string") reject(`is ${nameOf(value)}, not a text`);
  if (value.includes("\0")) reject("contains a NUL character");
  return value.isWellFormed() ? value : reject("is not well-formed Unicode");
}

function integerValue(value: unknown): number {
  if (typeof value !== "number") reject(notNumber(value, "an integer"));
  if (!Number.isSafeInteger(value)) reject(`is ${value}, not a safe integer`);
  return value === 0 ? 0 : value; // V1
}

function bigintValue(value: unknown): number | bigint {
  if (typeof value === "number") return integerValue(value);
  if (typeof value !== "bigint" && !(typeof value === "string" && INTEGER.test(value))) {
    reject(`is ${nameOf(value)}, not a whole number`);
  }
  const whole = BigInt(value);
  if (whole < BIGINT_MIN || whole > BIGINT_MAX) reject(`is ${whole}, which is over 64 bits`);
  const small = Number(whole);
  return Number.isSafeInteger(small) ? small : whole;
}

function realValue(value: unknown): number {
  if (typeof value !== "number") reject(notNumber(value, "a number"));
  if (!Number.isFinite(value)) reject(`is ${value}, not a finite number`);
  return value === 0 ? 0 : value; // V1
}

/** The most frequent cause is a CSV file, whose cells are texts. */
function notNumber(value: unknown, expected: string): string {
  const hint = typeof value === "string" ? "; cells of CSV are texts: use Number(...)" : "";
  return `is ${nameOf(value)}, not ${expected}${hint}`;
}

/** Databases take 1 and 0 for booleans. */
function booleanValue(value: unknown): number {
  if (typeof value !== "boolean") reject(`is ${nameOf(value)}, not a boolean`);
  return value ? 1 : 0;
}

function decimalValue(value: unknown, digits: TypeFacts["digits"]): string {
  const text = decimalText(value);
  const match = DECIMAL.exec(text);
  const [, sign = "", whole = "", fraction = ""] = match ?? [];
  if (match === null || !/\d/.test(text)) reject(`is ${JSON.stringify(text)}, not a decimal`);
  if (digits !== null && fraction.length > digits.scale) {
    reject(`is ${text}, which has more than ${digits.scale} digits after the point`); // V2
  }
  if (digits !== null && whole.length > digits.total - digits.scale) {
    const max = digits.total - digits.scale;
    reject(`is ${text}, which has more than ${max} digits before the point`); // V2
  }
  const shown = fraction === "" ? whole || "0" : `${whole || "0"}.${fraction}`;
  return sign === "-" && shown !== "0" ? `-${shown}` : shown; // V1
}

/** Numbers are accepted where they are exact; others must be texts. */
function decimalText(value: unknown): string {
  if (typeof value === "string") return value;
  if (typeof value === "bigint" || Number.isSafeInteger(value)) return String(value);
  if (typeof value === "number") {
    reject(`is the number ${value}, which may be rounded; pass a text`); // V2
  }
  return reject(`is ${nameOf(value)}, not a decimal`);
}

function dateValue(value: unknown): string {
  if (typeof value !== "string") reject(`is ${nameOf(value)}, not a date`);
  const shown = JSON.stringify(value);
  if (!DATE.test(value)) reject(`is ${shown}, not a date of the form YYYY-MM-DD`);
  if (parseInstant(`${value}T00:00:00Z`).kind === "invalid") {
    reject(`is ${shown}, which is not in the calendar`);
  }
  return value;
}

function timestampValue(value: unknown): string {
  const text = value instanceof Date ? dateText(value) : value;
  if (typeof text !== "string") reject(`is ${nameOf(text)}, not a timestamp`);
  const instant = parseInstant(text);
  if (instant.kind === "invalid") reject(`is ${JSON.stringify(text)}, which ${instant.reason}`);
  if (instant.epochNs % 1_000n !== 0n) {
    reject(`is ${JSON.stringify(text)}, which is finer than a microsecond`); // V2
  }
  const sinceMs = instant.epochNs - BigInt(instant.epochMs) * 1_000_000n;
  const microseconds = (sinceMs / 1_000n).toString().padStart(3, "0");
  return formatInstant(instant.epochMs).replace(/Z$/, `${microseconds}Z`); // V1
}

function dateText(value: Date): string {
  return Number.isNaN(value.getTime()) ? reject("is an invalid Date") : value.toISOString();
}

function jsonValue(value: unknown): string {
  let text: string | undefined;
  try {
    text = JSON.stringify(value);
  } catch {
    text = undefined;
  }
  if (text === undefined) reject("cannot be written as JSON");
  if (text.includes("\\u0000")) reject("contains a NUL character");
  return text.isWellFormed() ? text : reject("is not well-formed Unicode");
}

function bytesValue(value: unknown): Uint8Array {
  return value instanceof Uint8Array ? value : reject(`is ${nameOf(value)}, not a Uint8Array`);
}

function uuidValue(value: unknown): string {
  if (typeof value !== "string" || !UUID.test(value)) {
    reject(`is ${typeof value === "string" ? JSON.stringify(value) : nameOf(value)}, not a UUID`);
  }
  const hex = value.toLowerCase().replaceAll("-", "");
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-"); // V1
}

/** An array as PostgreSQL reads it. */
function arrayValue(value: unknown, element: EncodeValue): string {
  if (!Array.isArray(value)) reject(`is ${nameOf(value)}, not an array`);
  const items = value.map((item) => {
    if (item === null || item === undefined) return "NULL";
    const encoded = element(item);
    const text = encoded instanceof Uint8Array ? hexText(encoded) : String(encoded);
    return `"${text.replace(/["\\]/g, "\\$&")}"`;
  });
  return `{${items.join(",")}}`;
}

/** For an existing column: the database checks the value against its type. */
function nativeValue(value: unknown): SinkValue {
  switch (typeof value) {
    case "string":
      return textValue(value);
    case "number":
      return realValue(value);
    case "bigint":
      return value;
    case "boolean":
      return value ? 1 : 0;
    default:
      if (value instanceof Uint8Array) return value;
      if (value instanceof Date) return timestampValue(value);
      return Array.isArray(value) ? arrayValue(value, nativeValue) : jsonValue(value);
  }
}

/** Bytes as PostgreSQL reads them. */
export function hexText(bytes: Uint8Array): string {
  return `\\x${Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("hex")}`;
}

/** The parts of a declared type, which the spec has checked. */
export function typeFacts(type: unknown): TypeFacts {
  return parseColumnType(type) ?? { scalar: "text", isArray: false, digits: null };
}

function nameOf(value: unknown): string {
  if (typeof value === "string") return "a text";
  if (typeof value === "object") return "an object";
  return `a ${typeof value}`;
}

function reject(problem: string): never {
  throw new ValueProblem(problem);
}
