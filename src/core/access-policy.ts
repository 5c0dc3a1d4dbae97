// Access policy: whether a policy of a resource or of a role allows a request, by the rules of IAM.
//   P1. A matching Deny overrides every Allow; without a matching Allow, nothing is granted.
//   P2. A condition that is not understood grants nothing: an Allow with one does not match, a Deny
//       with one does.
//   P3. Pure: only the policy's text and the request decide.

import { isObject } from "./is-object.ts";

/** Who asks: an AWS service, or a user or role by its ARN. */
export type AccessPrincipal = { readonly service: string } | { readonly arn: string };

export interface AccessRequest {
  /** Null for the policy of a role, whose statements have no principal. */
  readonly principal: AccessPrincipal | null;
  /** `sqs:SendMessage`. */
  readonly action: string;
  /** ARN of the resource. */
  readonly resource: string;
  /** Values of condition keys; their names are in lower case: `aws:securetransport`. */
  readonly context: Readonly<Record<string, string>>;
}

/** "deny" is explicit and overrides other policies; "none" leaves the decision to them. */
export type AccessVerdict = "allow" | "deny" | "none";

/** The service, the action and the resource of a request, and its source. */
export interface ServiceRequest {
  /** `sns.amazonaws.com`, `s3.amazonaws.com`. */
  readonly service: string;
  /** `sqs:SendMessage`. */
  readonly action: string;
  /** ARN of the resource that holds the policy. */
  readonly resource: string;
  /** ARN of the topic or bucket that caused the request. */
  readonly sourceArn: string;
  readonly sourceAccount: string;
}

type Json = Readonly<Record<string, unknown>>;

/** `policy` is the text of a policy, or undefined if there is none. */
export function decideAccess(policy: string | undefined, request: AccessRequest): AccessVerdict {
  let verdict: AccessVerdict = "none";
  for (const statement of statementsOf(policy)) {
    if (!concerns(statement, request)) continue;
    const fits = meetsConditions(statement.Condition, request);
    if (statement.Effect === "Deny" && fits !== false) return "deny"; // P1, P2
    if (statement.Effect === "Allow" && fits === true) verdict = "allow";
  }
  return verdict;
}

/** Whether the policy of a resource lets an AWS service act on it. */
export function allowsService(policy: string | undefined, request: ServiceRequest): boolean {
  const { service, action, resource, sourceArn, sourceAccount } = request;
  const context = {
    "aws:sourcearn": sourceArn,
    "aws:sourceaccount": sourceAccount,
    "aws:sourceowner": sourceAccount,
    "aws:securetransport": "true",
    "aws:principalisawsservice": "true",
    "aws:principalservicename": service,
  };
  return decideAccess(policy, { principal: { service }, action, resource, context }) === "allow";
}

function statementsOf(policy: string | undefined): Json[] {
  if (policy === undefined) return [];
  try {
    const parsed: unknown = JSON.parse(policy);
    return isObject(parsed) ? listOf(parsed.Statement).filter(isObject) : [];
  } catch {
    return [];
  }
}

function concerns(statement: Json, request: AccessRequest): boolean {
  return (
    concernsPrincipal(statement, request.principal) &&
    concernsName(statement.Action, statement.NotAction, request.action.toLowerCase(), true) &&
    concernsName(statement.Resource, statement.NotResource, request.resource, false)
  );
}

function concernsPrincipal(statement: Json, principal: AccessPrincipal | null): boolean {
  if (principal === null) return true;
  if (statement.NotPrincipal !== undefined) return !isPrincipal(statement.NotPrincipal, principal);
  return isPrincipal(statement.Principal, principal);
}

function isPrincipal(given: unknown, principal: AccessPrincipal): boolean {
  if (given === "*") return true;
  if (!isObject(given)) return false;
  const identities = listOf(given.AWS);
  if (identities.includes("*")) return true;
  if ("service" in principal) return listOf(given.Service).includes(principal.service);
  // An account, or its root, stands for every user and role of the account.
  const account = principal.arn.split(":")[4];
  return identities.some((identity) => {
    if (identity === principal.arn || identity === account) return true;
    return typeof identity === "string" && identity.endsWith(`::${account}:root`);
  });
}

/** Whether a name is among the patterns of `given`, or not among those of `excluded`. */
function concernsName(
  given: unknown,
  excluded: unknown,
  name: string,
  ignoreCase: boolean,
): boolean {
  const isNamed = (patterns: unknown) =>
    listOf(patterns).some((pattern) => {
      if (typeof pattern !== "string") return false;
      return matchesPattern(ignoreCase ? pattern.toLowerCase() : pattern, name);
    });
  return excluded === undefined ? isNamed(given) : !isNamed(excluded);
}

/** True or false if all conditions are understood, otherwise null (P2). */
function meetsConditions(conditions: unknown, request: AccessRequest): boolean | null {
  if (conditions === undefined) return true;
  if (!isObject(conditions)) return null;
  let understood = true;
  for (const [operator, keys] of Object.entries(conditions)) {
    const test = isObject(keys) ? testOf(operator) : null;
    for (const [key, wanted] of Object.entries(isObject(keys) ? keys : {})) {
      const met =
        test === null ? null : test(request.context[key.toLowerCase()] ?? null, listOf(wanted));
      if (met === false) return false; // One failed condition is enough, whatever the others mean.
      if (met === null) understood = false;
    }
    if (test === null) understood = false;
  }
  return understood ? true : null;
}

type Test = (value: string | null, wanted: readonly unknown[]) => boolean;
type Comparison = (value: string, wanted: string) => boolean;

const exact: Comparison = (value, wanted) => value === wanted;
const like: Comparison = (value, wanted) => matchesPattern(wanted, value);
const caseless: Comparison = (value, wanted) => value.toLowerCase() === wanted.toLowerCase();

const COMPARISONS: ReadonlyMap<string, Comparison> = new Map([
  ["StringEquals", exact],
  ["StringLike", like],
  ["StringEqualsIgnoreCase", caseless],
  // ARNs are patterns in both operators, as in IAM.
  ["ArnEquals", like],
  ["ArnLike", like],
  ["Bool", caseless],
]);

const NEGATED: ReadonlyMap<string, string> = new Map([
  ["StringNotEquals", "StringEquals"],
  ["StringNotLike", "StringLike"],
  ["StringNotEqualsIgnoreCase", "StringEqualsIgnoreCase"],
  ["ArnNotEquals", "ArnEquals"],
  ["ArnNotLike", "ArnLike"],
]);

function testOf(operator: string): Test | null {
  if (operator === "Null") {
    return (value, wanted) => wanted.some((flag) => String(flag) === String(value === null));
  }
  const lenient = operator.endsWith("IfExists");
  const name = lenient ? operator.slice(0, -"IfExists".length) : operator;
  const positive = NEGATED.get(name);
  const comparison = COMPARISONS.get(positive ?? name);
  if (comparison === undefined) return null;
  return (value, wanted) => {
    if (value === null) return lenient || positive !== undefined;
    const matched = wanted.some((item) => comparison(value, String(item)));
    return positive === undefined ? matched : !matched;
  };
}

/** `*` matches any text and `?` one character. No pattern causes long backtracking. */
export function matchesPattern(pattern: string, text: string): boolean {
  let p = 0;
  let star = -1;
  let resume = 0;
  for (let t = 0; t < text.length; ) {
    if (
      p < pattern.length &&
      (pattern[p] === "?" || pattern[p] === text[t]) &&
      pattern[p] !== "*"
    ) {
      p += 1;
      t += 1;
    } else if (pattern[p] === "*") {
      star = p;
      resume = t;
      p += 1;
    } else if (star >= 0) {
      p = star + 1;
      resume += 1;
      t = resume;
    } else {
      return false;
    }
  }
  while (pattern[p] === "*") p += 1;
  return p === pattern.length;
}

function listOf(value: unknown): readonly unknown[] {
  if (value === undefined) return [];
  return Array.isArray(value) ? value : [value];
}
