// Policy document: statements of AWS policies as values, from JSON or from Terraform.
//   D1. A single value and a list of one value mean the same, as in AWS.
//   D2. A part that cannot be read is null, which no rule reports (S1 of setup.ts).

import { matchesPattern } from "../core/access/pattern.ts";
import { UNKNOWN } from "./unknown.ts";

export interface ObservedStatement {
  readonly effect: "Allow" | "Deny";
  /** Null if unknown. */
  readonly actions: readonly string[] | null;
  readonly resources: readonly string[] | null;
  /** Services, accounts or "*"; empty in policies of roles; null if unknown. */
  readonly principals: readonly string[] | null;
  /** Keys of all conditions in lower case, with their values; null if unknown. */
  readonly conditions: Readonly<Record<string, readonly string[]>> | null;
  /** Whether it says NotAction, NotResource or NotPrincipal. */
  readonly negated: boolean;
}

/** It may allow anything, to anybody. */
const UNKNOWN_STATEMENT: ObservedStatement = {
  effect: "Allow",
  actions: null,
  resources: null,
  principals: null,
  conditions: null,
  negated: false,
};

type Fields = Readonly<Record<string, unknown>>;

/** The statements of a policy; undefined if it is unknown, null if there is none. */
export function policyStatements(policy: unknown): readonly ObservedStatement[] | null | undefined {
  if (policy === null || policy === undefined || policy === "") return null;
  const document = typeof policy === "string" ? parsed(policy) : policy;
  if (!isFields(document)) return undefined;
  const { Statement } = document;
  if (Statement === undefined || Statement === UNKNOWN) return undefined;
  const list = Array.isArray(Statement) ? Statement : [Statement];
  return list.map((each) => (isFields(each) ? statementOf(each) : UNKNOWN_STATEMENT)); // D2
}

function statementOf(fields: Fields): ObservedStatement {
  const { Effect, Action, NotAction, Resource, NotResource, Principal, NotPrincipal } = fields;
  const negated = [NotAction, NotResource, NotPrincipal].some((part) => part !== undefined);
  return {
    effect: Effect === "Deny" ? "Deny" : "Allow",
    actions: texts(Action),
    resources: texts(Resource),
    principals: principalsOf(Principal),
    conditions: conditionsOf(fields.Condition),
    negated,
  };
}

function principalsOf(principal: unknown): readonly string[] | null {
  if (!isFields(principal)) return texts(principal);
  const lists = Object.values(principal).map(texts);
  return lists.includes(null) ? null : lists.flatMap((list) => list ?? []);
}

function conditionsOf(condition: unknown): ObservedStatement["conditions"] {
  if (condition === undefined || condition === null) return {};
  if (!isFields(condition)) return null;
  const conditions: Record<string, readonly string[]> = {};
  for (const test of Object.values(condition)) {
    if (!isFields(test)) return null;
    for (const [key, value] of Object.entries(test)) {
      conditions[key.toLowerCase()] = texts(value) ?? [];
    }
  }
  return conditions;
}

/** One or more texts as a list (D1); null if one of them is unknown (D2). */
function texts(value: unknown): readonly string[] | null {
  if (value === undefined || value === null) return [];
  const list = Array.isArray(value) ? value.flat() : [value];
  return list.includes(UNKNOWN) ? null : list.map(String);
}

function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Whether `pattern`, with the wildcards of AWS, covers `text`, whatever their case. */
export function covers(pattern: string, text: string): boolean {
  return matchesPattern(pattern.toLowerCase(), text.toLowerCase());
}
