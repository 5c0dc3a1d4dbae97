// FilterPolicy: which messages a subscription wants. filter-policy-validation.ts compiles policies;
// this file evaluates them.
//   F1. A policy is a choice of alternatives (from $or); a message passes if it meets every rule of
//       one of them.
//   F2. A rule names one path and is met by any of its tests on any of the values there: an array
//       in a message offers each of its elements.
//   F3. Objects are flattened, so {"a.b": 1} and {"a": {"b": 1}} are the same path.
//   F4. Types are never converted: the text "5" is not the number 5.
//   F5. Only paths that a policy names are read. The sender chooses how deep and how large a
//       message is, and all its paths could be far longer than the message.

import { unreachable } from "../../../core/assert.ts";
import { type IpNetwork, isInNetwork, parseIpAddress } from "../ip-network.ts";
import type { MessageAttribute } from "../operations.ts";

export type FilterScope = "MessageAttributes" | "MessageBody";

export type Scalar = string | number | boolean | null;

export type NumericOperator = "=" | "<" | "<=" | ">" | ">=";

export interface NumericBound {
  readonly operator: NumericOperator;
  readonly value: number;
}

export type ValueTest =
  | { readonly kind: "equals"; readonly value: Scalar }
  | { readonly kind: "prefix"; readonly text: string }
  | { readonly kind: "suffix"; readonly text: string }
  | { readonly kind: "equals-ignore-case"; readonly text: string }
  | { readonly kind: "anything-but"; readonly values: readonly Scalar[] }
  | { readonly kind: "anything-but-prefix"; readonly text: string }
  | { readonly kind: "numeric"; readonly bounds: readonly NumericBound[] }
  | { readonly kind: "exists"; readonly wanted: boolean }
  | { readonly kind: "cidr"; readonly network: IpNetwork };

export interface FilterRule {
  readonly path: string;
  readonly tests: readonly ValueTest[];
}

export interface FilterPolicy {
  readonly scope: FilterScope;
  readonly alternatives: readonly (readonly FilterRule[])[];
  /** The paths of all rules, and their prefixes (F5). */
  readonly named: ReadonlySet<string>;
}

/** The `named` paths of these alternatives. */
export function namedPaths(alternatives: FilterPolicy["alternatives"]): Set<string> {
  const named = new Set<string>();
  for (const { path } of alternatives.flat()) {
    for (let at = path.indexOf("."); at !== -1; at = path.indexOf(".", at + 1)) {
      named.add(path.slice(0, at));
    }
    named.add(path);
  }
  return named;
}

/** The values of a message at each path. */
type Offer = ReadonlyMap<string, readonly Scalar[]>;

export function passesFilter(
  policy: FilterPolicy,
  attributes: Readonly<Record<string, MessageAttribute>> | null,
  body: string,
): boolean {
  const onBody = policy.scope === "MessageBody";
  const offer = onBody ? offerOfBody(body, policy.named) : offerOfAttributes(attributes);
  if (offer === null) return false;
  return policy.alternatives.some((rules) => rules.every((rule) => meets(offer, rule))); // F1
}

function offerOfAttributes(attributes: Readonly<Record<string, MessageAttribute>> | null): Offer {
  const offer = new Map<string, Scalar[]>();
  for (const [name, attribute] of Object.entries(attributes ?? {})) {
    offer.set(name, attributeValues(attribute));
  }
  return offer;
}

function attributeValues({ type, value }: MessageAttribute): Scalar[] {
  if (type === "String.Array") return arrayValues(value);
  if (type === "Number" || type.startsWith("Number.")) return [Number(value)];
  // A policy cannot compare bytes with anything; they only exist.
  return type === "String" || type.startsWith("String.") ? [value] : [];
}

function arrayValues(text: string): Scalar[] {
  const parsed = parseJson(text);
  const elements: unknown[] = Array.isArray(parsed) ? parsed : [];
  return elements.filter(isScalar);
}

/** Null if the body is not a JSON object: such a message meets no policy. */
function offerOfBody(body: string, named: ReadonlySet<string>): Offer | null {
  const root = parseJson(body);
  if (typeof root !== "object" || root === null || Array.isArray(root)) return null;
  const offer = new Map<string, Scalar[]>();
  // An explicit stack, because the sender chooses how deep a message nests.
  const open: { path: string; value: unknown }[] = [{ path: "", value: root }];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { path, value } = next;
    if (Array.isArray(value)) {
      for (const element of value) open.push({ path, value: element }); // F2
    } else if (isScalar(value)) {
      const values = offer.get(path);
      if (values === undefined) offer.set(path, [value]);
      else values.push(value);
    } else {
      for (const [key, member] of Object.entries(value as object)) {
        const inner = path === "" ? key : `${path}.${key}`; // F3
        if (named.has(inner)) open.push({ path: inner, value: member }); // F5
      }
    }
  }
  return offer;
}

function meets(offer: Offer, rule: FilterRule): boolean {
  const values = offer.get(rule.path);
  return rule.tests.some((test) => {
    if (test.kind === "exists") return test.wanted === (values !== undefined);
    return values?.some((value) => passes(test, value)) === true; // F2
  });
}

function passes(test: Exclude<ValueTest, { kind: "exists" }>, value: Scalar): boolean {
  switch (test.kind) {
    case "equals":
      return same(test.value, value);
    case "prefix":
      return typeof value === "string" && value.startsWith(test.text);
    case "suffix":
      return typeof value === "string" && value.endsWith(test.text);
    case "equals-ignore-case":
      return typeof value === "string" && value.toLowerCase() === test.text.toLowerCase();
    case "anything-but":
      return !test.values.some((excluded) => same(excluded, value));
    case "anything-but-prefix":
      return typeof value === "string" && !value.startsWith(test.text);
    case "numeric":
      return typeof value === "number" && isInBounds(test.bounds, value);
    case "cidr":
      return isInside(test.network, value);
    default:
      return unreachable(test);
  }
}

function isInside(network: IpNetwork, value: Scalar): boolean {
  const address = typeof value === "string" ? parseIpAddress(value) : null;
  return address !== null && isInNetwork(address, network);
}

function same(a: Scalar, b: Scalar): boolean {
  if (typeof a === "number" && typeof b === "number") return scaled(a) === scaled(b);
  return a === b; // F4
}

const NUMBER_SIZE_MAX = 1e9;

function isInBounds(bounds: readonly NumericBound[], value: number): boolean {
  if (!(Math.abs(value) <= NUMBER_SIZE_MAX)) return false;
  return bounds.every(({ operator, value: bound }) =>
    compare(operator, scaled(value), scaled(bound)),
  );
}

function compare(operator: NumericOperator, value: number, bound: number): boolean {
  switch (operator) {
    case "=":
      return value === bound;
    case "<":
      return value < bound;
    case "<=":
      return value <= bound;
    case ">":
      return value > bound;
    case ">=":
      return value >= bound;
    default:
      return unreachable(operator);
  }
}

/** Numbers are compared to five digits after the decimal point. */
function scaled(value: number): number {
  return Math.round(value * 1e5);
}

function isScalar(value: unknown): value is Scalar {
  return value === null || ["string", "number", "boolean"].includes(typeof value);
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
