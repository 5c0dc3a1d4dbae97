// FilterPolicyValidation: compiles the JSON of a policy, or refuses it in AWS's words. AWS adds
// line and column to many of these sentences; we do not.
//   V1. At most five leaf keys, and at most 150 combinations: the product of the sizes of all
//       arrays, each times the depth of its key; the branches of $or add up.
//   V2. Only a policy on the body may nest.
//   V3. $or is an operator if its value is a list of at least two objects, else an ordinary key.

import { isObject } from "../../../core/is-object.ts";
import { SNS_FILTER_COMBINATIONS_MAX, SNS_FILTER_KEYS_MAX } from "../../../core/limits.ts";
import { type Result, refuseWith, succeed } from "../../../core/result.ts";
import { parseIpAddress } from "../ip-network.ts";
import {
  type FilterPolicy,
  type FilterRule,
  type FilterScope,
  type NumericBound,
  type NumericOperator,
  namedPaths,
  type Scalar,
  type ValueTest,
} from "./filter-policy.ts";

export type ParsedFilter = Result<FilterPolicy, string>;

/** The deepest nesting of a policy; AWS's own limits are far below it. */
const DEPTH_MAX = 50;

/** Unwinds the walk through a policy; never leaves this file. */
class InvalidFilter extends Error {}

export function parseFilterPolicy(text: string, scope: FilterScope): ParsedFilter {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return refuseWith("FilterPolicy: failed to parse JSON.");
  }
  if (!isObject(value)) return refuseWith("FilterPolicy: Filter is not an object");
  try {
    const walk = { keys: 0, deepest: 1 };
    const { alternatives, combinations } = compile(value, "", 1, START, walk);
    if (walk.keys > SNS_FILTER_KEYS_MAX) {
      const text = `Filter policy can not have more than ${SNS_FILTER_KEYS_MAX} keys`;
      return refuseWith(`FilterPolicy: ${text}`); // V1
    }
    if (scope === "MessageAttributes" && walk.deepest > 1) {
      const text = `Filter policy scope ${scope} does not support nested filter policy`;
      return refuseWith(text); // V2
    }
    if (combinations > SNS_FILTER_COMBINATIONS_MAX) {
      return refuseWith("FilterPolicy: Filter policy is too complex"); // V1
    }
    return succeed({ scope, alternatives, named: namedPaths(alternatives) });
  } catch (error) {
    if (!(error instanceof InvalidFilter)) throw error;
    return refuseWith(`FilterPolicy: ${error.message}`);
  }
}

interface Compiled {
  readonly alternatives: readonly (readonly FilterRule[])[];
  readonly combinations: number;
}

const START: Compiled = { alternatives: [[]], combinations: 1 };

interface Walk {
  keys: number;
  deepest: number;
}

function compile(
  policy: Record<string, unknown>,
  prefix: string,
  depth: number,
  before: Compiled,
  walk: Walk,
): Compiled {
  if (depth > DEPTH_MAX) throw new InvalidFilter("Filter policy is too complex");
  walk.deepest = Math.max(walk.deepest, depth);
  let compiled = before;
  for (const [key, value] of Object.entries(policy)) {
    const path = prefix === "" ? key : `${prefix}.${key}`;
    if (isChoice(key, value)) {
      compiled = compileChoice(value, prefix, depth, compiled, walk);
    } else if (isObject(value)) {
      compiled = compile(value, path, depth + 1, compiled, walk);
    } else if (Array.isArray(value)) {
      compiled = addRule(compiled, { path, tests: compileTests(value) }, depth);
      walk.keys += 1;
    } else {
      throw new InvalidFilter(`"${key}" must be an object or an array`);
    }
  }
  return compiled;
}

function compileChoice(
  branches: readonly Record<string, unknown>[],
  prefix: string,
  depth: number,
  before: Compiled,
  walk: Walk,
): Compiled {
  const compiled = branches.map((branch) => compile(branch, prefix, depth, before, walk));
  const combinations = compiled.reduce((sum, branch) => sum + branch.combinations, 0);
  // Checked here as well, because the alternatives grow with every choice.
  if (combinations > SNS_FILTER_COMBINATIONS_MAX)
    throw new InvalidFilter("Filter policy is too complex");
  return { alternatives: compiled.flatMap((branch) => branch.alternatives), combinations };
}

function addRule(before: Compiled, rule: FilterRule, depth: number): Compiled {
  return {
    alternatives: before.alternatives.map((rules) => [...rules, rule]),
    combinations: before.combinations * rule.tests.length * depth,
  };
}

function isChoice(key: string, value: unknown): value is Record<string, unknown>[] {
  return key === "$or" && Array.isArray(value) && value.length > 1 && value.every(isObject); // V3
}

function compileTests(values: readonly unknown[]): ValueTest[] {
  if (values.length === 0) throw new InvalidFilter("Empty arrays are not allowed");
  return values.map((value) => {
    if (isScalar(value)) return { kind: "equals", value };
    if (!isObject(value)) {
      throw new InvalidFilter("Match value must be String, number, true, false, or null");
    }
    return compileOperator(value);
  });
}

function compileOperator(expression: Record<string, unknown>): ValueTest {
  const entries = Object.entries(expression);
  if (entries.length !== 1) throw new InvalidFilter("Only one key allowed in match expression");
  const [operator, value] = entries[0] as [string, unknown];
  switch (operator) {
    case "prefix":
    case "suffix":
    case "equals-ignore-case":
      return { kind: operator, text: requireText(operator, value) };
    case "exists":
      if (typeof value === "boolean") return { kind: "exists", wanted: value };
      throw new InvalidFilter("exists match pattern must be either true or false.");
    case "anything-but":
      return compileAnythingBut(value);
    case "numeric":
      return { kind: "numeric", bounds: compileNumeric(value) };
    case "cidr":
      return compileCidr(value);
    default:
      throw new InvalidFilter(`Unrecognized match type ${operator}`);
  }
}

function requireText(operator: string, value: unknown): string {
  if (typeof value !== "string")
    throw new InvalidFilter(`${operator} match pattern must be a string`);
  return value;
}

function compileAnythingBut(value: unknown): ValueTest {
  if (isObject(value)) {
    const operator = Object.keys(value).find((name) => name !== "prefix");
    if (operator !== undefined)
      throw new InvalidFilter(`Unsupported anything-but pattern: ${operator}`);
    return { kind: "anything-but-prefix", text: requireText("prefix", value.prefix) };
  }
  const values: unknown[] = Array.isArray(value) ? value : [value];
  if (values.length === 0) throw new InvalidFilter("Empty arrays are not allowed");
  if (!values.every(isScalar)) {
    throw new InvalidFilter("Inside anything but list, start|null|boolean is not supported.");
  }
  return { kind: "anything-but", values };
}

const OPERATORS: readonly string[] = ["=", "<", "<=", ">", ">="];

function compileNumeric(value: unknown): NumericBound[] {
  const terms: unknown[] = Array.isArray(value) ? [...value] : [value];
  const operator = terms.shift();
  if (operator === undefined) throw new InvalidFilter("Invalid member in numeric match: ]");
  if (typeof operator !== "string") {
    throw new InvalidFilter(`Invalid member in numeric match: ${JSON.stringify(operator)}`);
  }
  if (!OPERATORS.includes(operator)) {
    throw new InvalidFilter(`Unrecognized numeric range operator: ${operator}`);
  }
  const low = { operator: operator as NumericOperator, value: requireNumber(operator, terms) };
  if (terms.length === 0) return [low];
  if (operator !== ">" && operator !== ">=") {
    throw new InvalidFilter("Too many elements in numeric expression");
  }
  const high = compileUpperBound(terms);
  if (high.value <= low.value) throw new InvalidFilter("Bottom must be less than top");
  if (terms.length > 0) throw new InvalidFilter("Too many terms in numeric range expression");
  return [low, high];
}

function compileUpperBound(terms: unknown[]): NumericBound {
  const operator = terms.shift();
  if (typeof operator !== "string") {
    throw new InvalidFilter(`Bad value in numeric range: ${JSON.stringify(operator)}`);
  }
  if (operator !== "<" && operator !== "<=") {
    throw new InvalidFilter(`Bad numeric range operator: ${operator}`);
  }
  return { operator, value: requireNumber(operator, terms) };
}

function requireNumber(operator: string, terms: unknown[]): number {
  const value = terms.shift();
  if (typeof value === "number") return value;
  throw new InvalidFilter(`Value of ${operator === "=" ? "equals" : operator} must be numeric`);
}

function compileCidr(value: unknown): ValueTest {
  const [base = "", mask, ...more] = requireText("prefix", value).split("/");
  if (mask === undefined || more.length > 0)
    throw new InvalidFilter("Malformed CIDR, one '/' required");
  if (!/^\d{1,3}$/.test(mask)) {
    throw new InvalidFilter("Malformed CIDR, mask bits must be an integer");
  }
  const address = parseIpAddress(base);
  if (address === null) throw new InvalidFilter(`Nonstandard IP address: ${base}`);
  const maskBits = Number(mask);
  if (maskBits > address.bits)
    throw new InvalidFilter("Malformed CIDR, mask bits must not exceed size");
  return { kind: "cidr", network: { address, maskBits } };
}

function isScalar(value: unknown): value is Scalar {
  return value === null || ["string", "number", "boolean"].includes(typeof value);
}
