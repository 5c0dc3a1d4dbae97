// Conditions: the operators that IAM documents, on the keys of a request.
//   C1. Several values of a key in a policy are alternatives; for a negated operator, none of them
//       may match. Several keys and operators must all be met.
//   C2. A key without a value fails, but for negated operators, ...IfExists, ForAllValues and Null.
//   C3. What is not understood is null: an operator, or a value that does not fit it.
//   C4. Times are compared in milliseconds; a number is also a time, in seconds.

import { parseInstant } from "../encoding/rfc3339.ts";
import { isObject } from "../is-object.ts";
import type { AccessContext } from "./access-policy.ts";
import { addressMatches } from "./address-range.ts";
import { asText, contextValue, matchesPattern, withVariables } from "./pattern.ts";

/** Null: one of the two has another form than the operator needs (C3). */
type Comparison = (value: string, wanted: string) => boolean | null;

interface Operator {
  readonly compare: Comparison;
  readonly negated: boolean;
  /** Whether variables have values in it. */
  readonly text: boolean;
}

const ARN_ELEMENTS = 6;

const exact: Comparison = (value, wanted) => asText(value) === asText(wanted);
const like: Comparison = (value, wanted) => matchesPattern(wanted, asText(value));
const caseless: Comparison = (value, wanted) => exact(value.toLowerCase(), wanted.toLowerCase());

/** Element by element, so that a wildcard never matches a colon. */
const arn: Comparison = (value, wanted) => {
  if (wanted === "*") return true;
  const [patterns, elements] = [arnElements(wanted), arnElements(asText(value))];
  if (patterns === null) return null;
  if (elements === null) return false;
  return patterns.every((pattern, index) => matchesPattern(pattern, elements[index] as string));
};

function arnElements(text: string): readonly string[] | null {
  const parts = text.split(":");
  if (parts.length < ARN_ELEMENTS) return null;
  return [...parts.slice(0, ARN_ELEMENTS - 1), parts.slice(ARN_ELEMENTS - 1).join(":")];
}

const bool: Comparison = (value, wanted) =>
  /^(?:true|false)$/i.test(wanted) ? value.toLowerCase() === wanted.toLowerCase() : null;

type Order = (difference: number) => boolean;
const ORDERS: Readonly<Record<string, Order>> = {
  Equals: (difference) => difference === 0,
  LessThan: (difference) => difference < 0,
  LessThanEquals: (difference) => difference <= 0,
  GreaterThan: (difference) => difference > 0,
  GreaterThanEquals: (difference) => difference >= 0,
};

function ordered(read: (text: string) => number | null, order: Order): Comparison {
  return (value, wanted) => {
    const [left, right] = [read(value), read(wanted)];
    if (right === null) return null;
    return left !== null && order(left - right);
  };
}

function readNumber(text: string): number | null {
  return /^[+-]?\d+(?:\.\d+)?$/.test(text.trim()) ? Number(text) : null;
}

/** A time as ISO 8601, with or without the time of the day, or in seconds since 1970 (C4). */
function readTime(text: string): number | null {
  if (/^\d+(?:\.\d+)?$/.test(text)) return Number(text) * 1_000;
  const match = /^(\d{4}-\d{2}-\d{2})(?:T(\d{2}:\d{2})(:\d{2}(?:\.\d+)?)?(Z|[+-]\d{2}:?\d{2})?)?$/;
  const [, day, minute = "00:00", second = ":00", zone = "Z"] = match.exec(text) ?? [];
  if (day === undefined) return null;
  const offset = zone.length === 5 ? `${zone.slice(0, 3)}:${zone.slice(3)}` : zone;
  const instant = parseInstant(`${day}T${minute}${second}${offset}`);
  return instant.kind === "invalid" ? null : instant.epochMs;
}

const OPERATORS: ReadonlyMap<string, Operator> = new Map(
  [
    ...pair("StringEquals", "StringNotEquals", exact, true),
    ...pair("StringEqualsIgnoreCase", "StringNotEqualsIgnoreCase", caseless, true),
    ...pair("StringLike", "StringNotLike", like, true),
    ...pair("ArnEquals", "ArnNotEquals", arn, true),
    ...pair("ArnLike", "ArnNotLike", arn, true),
    ...pair("IpAddress", "NotIpAddress", addressMatches, false),
    ...pair("NumericEquals", "NumericNotEquals", ordered(readNumber, ORDERS.Equals!), false),
    ...pair("DateEquals", "DateNotEquals", ordered(readTime, ORDERS.Equals!), false),
    ...Object.entries(ORDERS).flatMap(([name, order]): [string, Operator][] => [
      [`Numeric${name}`, operator(ordered(readNumber, order))],
      [`Date${name}`, operator(ordered(readTime, order))],
    ]),
    ["Bool", operator(bool)] as [string, Operator],
    ["BinaryEquals", operator((value, wanted) => value === wanted)] as [string, Operator],
  ].map(([name, each]) => [name.toLowerCase(), each]),
);

function operator(compare: Comparison, negated = false, text = false): Operator {
  return { compare, negated, text };
}

function pair(
  positive: string,
  negative: string,
  compare: Comparison,
  text: boolean,
): [string, Operator][] {
  return [
    [positive, operator(compare, false, text)],
    [negative, operator(compare, true, text)],
  ];
}

interface Test {
  readonly operator: Operator;
  readonly set: "all" | "any" | null;
  readonly ifExists: boolean;
}

/** The operator of a name such as `ForAnyValue:StringLikeIfExists`; null if there is none. */
function testOf(name: string): Test | null {
  const [, set, rest = "", ifExists] =
    /^(?:for(all|any)values?:)?(.*?)(ifexists)?$/.exec(name.toLowerCase()) ?? [];
  const existing = OPERATORS.get(rest);
  if (existing === undefined) return null;
  const of = set === "all" || set === "any" ? set : null;
  return { operator: existing, set: of, ifExists: ifExists !== undefined };
}

export function isOperator(name: string): boolean {
  return name.toLowerCase() === "null" || testOf(name) !== null;
}

/** True or false if all conditions are understood, otherwise null (C3). */
export function meetsConditions(
  conditions: unknown,
  context: AccessContext,
  hasVariables: boolean,
): boolean | null {
  if (conditions === undefined) return true;
  if (!isObject(conditions)) return null;
  let isUnderstood = true;
  for (const [name, keys] of Object.entries(conditions)) {
    if (!isObject(keys)) {
      isUnderstood = false;
      continue;
    }
    for (const [key, wanted] of Object.entries(keys)) {
      const met = meets(name, context, { key, wanted, hasVariables });
      if (met === false) return false; // One failed condition is enough, whatever others mean.
      if (met === null) isUnderstood = false;
    }
  }
  return isUnderstood ? true : null;
}

interface Wanted {
  readonly key: string;
  readonly wanted: unknown;
  readonly hasVariables: boolean;
}

function meets(
  name: string,
  context: AccessContext,
  { key, wanted, hasVariables }: Wanted,
): boolean | null {
  const given = contextValue(context, key);
  const values = given === undefined ? [] : typeof given === "string" ? [given] : given;
  const texts = (Array.isArray(wanted) ? wanted : [wanted]).map(String);
  if (name.toLowerCase() === "null") return texts.includes(String(given === undefined));
  const test = testOf(name);
  if (test === null) return null;
  const { operator: own, set, ifExists } = test;
  if (values.length === 0) {
    return ifExists || set === "all" || (own.negated && set === null); // C2
  }
  const expand = own.text && hasVariables;
  const alternatives = expand ? texts.map((text) => withVariables(text, context)) : texts;
  const one = (value: string) => compareAll(own, value, alternatives);
  const results = values.map(one);
  if (results.includes(null)) return null; // C3
  if (set === "all" || (set === null && own.negated)) return results.every(Boolean);
  return results.some(Boolean);
}

/** One value with all alternatives (C1). */
function compareAll(
  { compare, negated }: Operator,
  value: string,
  alternatives: readonly (string | null)[],
): boolean | null {
  const results = alternatives.map((text) => (text === null ? null : compare(value, text)));
  if (results.includes(true)) return !negated;
  return results.includes(null) ? null : negated;
}
