// AccessPolicy: whether a resource's policy allows an AWS service to do something to it.
//   P1. A matching Deny overrides every Allow; without a matching Allow, the answer is no.
//   P2. A condition that is not understood grants nothing: an Allow with one does not match, a Deny
//       with one does.
//   P3. Pure: only the policy's text and the request decide.

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

/** `policy` is the text of the resource's policy, or undefined if it has none. */
export function allowsService(policy: string | undefined, request: ServiceRequest): boolean {
  let allowed = false;
  for (const statement of statementsOf(policy)) {
    if (!concerns(statement, request)) continue;
    const fits = meetsConditions(statement.Condition, request);
    if (statement.Effect === "Deny" && fits !== false) return false; // P1, P2
    if (statement.Effect === "Allow" && fits === true) allowed = true;
  }
  return allowed;
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

function concerns(statement: Json, request: ServiceRequest): boolean {
  return (
    concernsPrincipal(statement, request.service) &&
    concernsName(statement.Action, statement.NotAction, request.action.toLowerCase(), true) &&
    concernsName(statement.Resource, statement.NotResource, request.resource, false)
  );
}

function concernsPrincipal(statement: Json, service: string): boolean {
  if (statement.NotPrincipal !== undefined) return !isPrincipal(statement.NotPrincipal, service);
  return isPrincipal(statement.Principal, service);
}

function isPrincipal(principal: unknown, service: string): boolean {
  if (principal === "*") return true;
  if (!isObject(principal)) return false;
  return listOf(principal.AWS).includes("*") || listOf(principal.Service).includes(service);
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
function meetsConditions(conditions: unknown, request: ServiceRequest): boolean | null {
  if (conditions === undefined) return true;
  if (!isObject(conditions)) return null;
  let understood = true;
  for (const [operator, keys] of Object.entries(conditions)) {
    const test = isObject(keys) ? testOf(operator) : null;
    for (const [key, wanted] of Object.entries(isObject(keys) ? keys : {})) {
      const met = test === null ? null : test(contextValue(key, request), listOf(wanted));
      if (met === false) return false; // One failed condition is enough, whatever the others mean.
      if (met === null) understood = false;
    }
    if (test === null) understood = false;
  }
  return understood ? true : null;
}

/** The request's value for a condition key, or null. */
function contextValue(key: string, request: ServiceRequest): string | null {
  switch (key.toLowerCase()) {
    case "aws:sourcearn":
      return request.sourceArn;
    case "aws:sourceaccount":
    case "aws:sourceowner":
      return request.sourceAccount;
    case "aws:securetransport":
    case "aws:principalisawsservice":
      return "true";
    case "aws:principalservicename":
      return request.service;
    default:
      return null;
  }
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

function isObject(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
