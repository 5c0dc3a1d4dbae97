// Terraform values: what an expression evaluates to, and the functions that expressions may call.
//   V1. A value is text, number, boolean, null, a list, an object, EncodedJson or UNKNOWN.
//   V2. A function that is not listed, or that gets UNKNOWN, returns UNKNOWN: nothing is guessed.

import { UNKNOWN } from "../unknown.ts";

export type TerraformValue = unknown;
export type TerraformObject = Readonly<Record<string, TerraformValue>>;

/** The result of jsonencode(): it keeps the parts that are not known. */
export class EncodedJson {
  readonly value: TerraformValue;

  constructor(value: TerraformValue) {
    this.value = value;
  }
}

/** The value of JSON text, however the text was written. */
export function jsonOf(value: TerraformValue): TerraformValue {
  if (value instanceof EncodedJson) return value.value;
  if (typeof value !== "string") return value;
  try {
    return JSON.parse(value);
  } catch {
    return UNKNOWN;
  }
}

export function isObjectValue(value: TerraformValue): value is TerraformObject {
  if (typeof value !== "object" || value === null) return false;
  return !Array.isArray(value) && !(value instanceof EncodedJson);
}

/** The text of a template, or UNKNOWN if one of its parts is. */
export function joinParts(parts: readonly TerraformValue[]): TerraformValue {
  if (parts.some((part) => !isScalar(part))) return UNKNOWN;
  return parts.map(String).join("");
}

function isScalar(value: TerraformValue): boolean {
  return ["string", "number", "boolean"].includes(typeof value);
}

type TerraformFunction = (...given: readonly TerraformValue[]) => TerraformValue;

const asList = (value: TerraformValue): readonly TerraformValue[] =>
  Array.isArray(value) ? value : [value];

/** Functions of values that are known completely. */
const FUNCTIONS: Readonly<Record<string, TerraformFunction>> = {
  lower: (text) => String(text).toLowerCase(),
  upper: (text) => String(text).toUpperCase(),
  tostring: (value) => String(value),
  tonumber: (value) => Number(value),
  tobool: (value) => value === true || value === "true",
  trimsuffix: (text, end) => cutEnd(String(text), String(end)),
  trimprefix: (text, start) => cutStart(String(text), String(start)),
  startswith: (text, start) => String(text).startsWith(String(start)),
  endswith: (text, end) => String(text).endsWith(String(end)),
  replace: (text, from, to) => String(text).replaceAll(String(from), String(to)),
  join: (by, list) => asList(list).map(String).join(String(by)),
  contains: (list, value) => asList(list).includes(value),
  max: (...numbers) => Math.max(...numbers.map(Number)),
  min: (...numbers) => Math.min(...numbers.map(Number)),
  ceil: (number) => Math.ceil(Number(number)),
  floor: (number) => Math.floor(Number(number)),
  format: (pattern, ...values) => formatted(String(pattern), values),
  coalesce: (...values) => values.find((value) => value !== null && value !== ""),
};

/** Functions of lists and objects, some of whose parts may be unknown. */
const TOLERANT: Readonly<Record<string, TerraformFunction>> = {
  jsonencode: (value) => new EncodedJson(value),
  jsondecode: (value) => jsonOf(value),
  tolist: (value) => value,
  toset: (value) => value,
  tomap: (value) => value,
  concat: (...lists) => lists.flatMap(asList),
  flatten: (list) => asList(list).flat(Number.POSITIVE_INFINITY),
  distinct: (list) => [...new Set(asList(list))],
  compact: (list) => asList(list).filter((each) => each !== "" && each !== null),
  merge: (...objects) => Object.assign({}, ...objects.filter(isObjectValue)),
  length: (value) => lengthOf(value),
  element: (list, at) => asList(list)[Number(at) % Math.max(1, asList(list).length)],
  keys: (object) => (isObjectValue(object) ? Object.keys(object) : UNKNOWN),
  values: (object) => (isObjectValue(object) ? Object.values(object) : UNKNOWN),
  lookup: (object, key, fallback) =>
    isObjectValue(object) ? (object[String(key)] ?? fallback ?? UNKNOWN) : UNKNOWN,
  coalescelist: (...lists) => lists.find((list) => asList(list).length > 0) ?? UNKNOWN,
};

export function callFunction(name: string, given: readonly TerraformValue[]): TerraformValue {
  if (name === "try") return given.find((value) => value !== UNKNOWN) ?? UNKNOWN;
  if (name === "concat") return given.flatMap(asList);
  if (given.includes(UNKNOWN)) return UNKNOWN; // V2
  if (Object.hasOwn(TOLERANT, name)) return TOLERANT[name]?.(...given);
  if (!Object.hasOwn(FUNCTIONS, name) || !given.every(isComplete)) return UNKNOWN;
  return FUNCTIONS[name]?.(...given) ?? null;
}

/** Whether no part of a value is unknown. */
function isComplete(value: TerraformValue): boolean {
  if (value === UNKNOWN) return false;
  if (value instanceof EncodedJson) return isComplete(value.value);
  if (typeof value !== "object" || value === null) return true;
  return Object.values(value).every(isComplete);
}

function lengthOf(value: TerraformValue): number {
  if (typeof value === "string") return value.length;
  return isObjectValue(value) ? Object.keys(value).length : asList(value).length;
}

function cutEnd(text: string, end: string): string {
  return end !== "" && text.endsWith(end) ? text.slice(0, -end.length) : text;
}

function cutStart(text: string, start: string): string {
  return text.startsWith(start) ? text.slice(start.length) : text;
}

function formatted(pattern: string, values: readonly TerraformValue[]): TerraformValue {
  let next = 0;
  const text = pattern.replaceAll(/%[sdv]/g, () => {
    next += 1;
    return String(values[next - 1]);
  });
  return text.includes("%") ? UNKNOWN : text;
}

type Operation = (left: number, right: number) => number | boolean;

const NUMERIC: Readonly<Record<string, Operation>> = {
  "+": (left, right) => left + right,
  "-": (left, right) => left - right,
  "*": (left, right) => left * right,
  "/": (left, right) => left / right,
  "%": (left, right) => left % right,
  "<": (left, right) => left < right,
  ">": (left, right) => left > right,
  "<=": (left, right) => left <= right,
  ">=": (left, right) => left >= right,
};

export function operate(
  operator: string,
  left: TerraformValue,
  right: TerraformValue,
): TerraformValue {
  if (left === UNKNOWN || right === UNKNOWN) return UNKNOWN;
  if (operator === "==") return left === right;
  if (operator === "!=") return left !== right;
  if (operator === "!") return left !== true;
  if (operator === "&&") return left === true && right === true;
  if (operator === "||") return left === true || right === true;
  return NUMERIC[operator]?.(Number(left), Number(right)) ?? UNKNOWN;
}
