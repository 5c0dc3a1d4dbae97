// Access policy: whether one policy, of a resource or of a user or role, allows a request, by the
// rules of IAM. access-decision.ts combines all policies of a request.
//   P1. A matching Deny overrides every Allow; without a matching Allow, nothing is granted.
//   P2. A condition that is not understood grants nothing: an Allow with one does not match, a Deny
//       with one does.
//   P3. Pure: only the policy's text and the request decide.
//   P4. A policy that names an account leaves it to that account who may use it: for its own users
//       such a statement grants nothing by itself. A Deny of an account is one of all its users.
//       In NotPrincipal it exempts none of them from a Deny: only their own names do.
//   P5. Variables have values in policies of version 2012-10-17 only.

import { isObject } from "../is-object.ts";
import { meetsConditions } from "./conditions.ts";
import { asText, matchesPattern, withVariables } from "./pattern.ts";

/** Who asks: an AWS service, a user, role or session by its ARN, or "anonymous". */
export type AccessPrincipal =
  | { readonly service: string }
  | { readonly arn: string }
  | { readonly anonymous: true };

/** Values of condition keys; their names are in lower case: `aws:securetransport`. */
export type AccessContext = Readonly<Record<string, string | readonly string[] | undefined>>;

export interface AccessRequest {
  /** Null for the policy of a role, whose statements have no principal. */
  readonly principal: AccessPrincipal | null;
  /** `sqs:SendMessage`. */
  readonly action: string;
  /** ARN of the resource. */
  readonly resource: string;
  readonly context: AccessContext;
}

/** "deny" is explicit and overrides other policies; "none" leaves the decision to them. */
export type AccessVerdict = "allow" | "deny" | "none";

/** A verdict, and the statement that decided; null if none did. */
export interface PolicyVerdict {
  readonly verdict: AccessVerdict;
  readonly index: number | null;
  readonly sid: string | null;
  /** Whether the statement allows only through the account of the caller (P4). */
  readonly viaAccount: boolean;
}

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
  return explainPolicy(policy, request).verdict;
}

const NO_STATEMENT: PolicyVerdict = { verdict: "none", index: null, sid: null, viaAccount: false };

/** As decideAccess, with the statement that decided. */
export function explainPolicy(policy: string | undefined, request: AccessRequest): PolicyVerdict {
  const { statements, hasVariables } = readPolicy(policy);
  let allowed = NO_STATEMENT;
  for (const [index, statement] of statements.entries()) {
    const match = concernsPrincipal(statement, request.principal);
    if (match === null || !concerns(statement, request, hasVariables)) continue;
    const fits = meetsConditions(statement.Condition, request.context, hasVariables);
    const sid = typeof statement.Sid === "string" ? statement.Sid : null;
    if (statement.Effect === "Deny" && fits !== false) {
      return { verdict: "deny", index, sid, viaAccount: false }; // P1, P2
    }
    const isBetter = allowed.verdict === "none" || (allowed.viaAccount && match === "named");
    if (statement.Effect === "Allow" && fits === true && isBetter) {
      allowed = { verdict: "allow", index, sid, viaAccount: match === "account" }; // P4
    }
  }
  return allowed;
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

interface ReadPolicy {
  readonly statements: readonly Json[];
  readonly hasVariables: boolean;
}

function readPolicy(policy: string | undefined): ReadPolicy {
  const nothing = { statements: [], hasVariables: false };
  if (policy === undefined) return nothing;
  try {
    const parsed: unknown = JSON.parse(policy);
    if (!isObject(parsed)) return nothing;
    const statements = listOf(parsed.Statement).filter(isObject);
    return { statements, hasVariables: parsed.Version === "2012-10-17" }; // P5
  } catch {
    return nothing;
  }
}

function concerns(statement: Json, request: AccessRequest, hasVariables: boolean): boolean {
  const action = request.action.toLowerCase();
  const isAction = (pattern: string) => matchesPattern(pattern.toLowerCase(), action);
  const resource = asText(request.resource);
  const isResource = (pattern: string) => {
    const expanded = hasVariables ? withVariables(pattern, request.context) : pattern;
    return expanded !== null && matchesPattern(expanded, resource);
  };
  return (
    isNamed(statement.Action, statement.NotAction, isAction) &&
    isNamed(statement.Resource, statement.NotResource, isResource)
  );
}

/** Whether a name is among the patterns of `given`, or not among those of `excluded`. */
function isNamed(
  given: unknown,
  excluded: unknown,
  matches: (pattern: string) => boolean,
): boolean {
  const patterns = listOf(excluded === undefined ? given : excluded);
  const isListed = patterns.some((each) => typeof each === "string" && matches(each));
  return excluded === undefined ? isListed : !isListed;
}

type PrincipalMatch = "named" | "account" | null;

function concernsPrincipal(statement: Json, principal: AccessPrincipal | null): PrincipalMatch {
  if (principal === null) return "named";
  if (statement.NotPrincipal === undefined) return matchPrincipal(statement.Principal, principal);
  const excluded = matchPrincipal(statement.NotPrincipal, principal);
  const applies = excluded === null || (excluded === "account" && statement.Effect === "Deny");
  return applies ? "named" : null; // P4
}

function matchPrincipal(given: unknown, principal: AccessPrincipal): PrincipalMatch {
  if (given === "*") return "named";
  if (!isObject(given)) return null;
  const identities = listOf(given.AWS);
  if (identities.includes("*")) return "named";
  if ("anonymous" in principal) return null;
  if ("service" in principal) {
    return listOf(given.Service).includes(principal.service) ? "named" : null;
  }
  if (identities.some((identity) => isName(String(identity), principal.arn))) return "named";
  // An account, or its root, stands for every user and role of the account.
  const account = principal.arn.split(":")[4] ?? "";
  const isAccount = identities.some(
    (identity) =>
      identity === account || (typeof identity === "string" && isRootOf(identity, account)),
  );
  if (!isAccount) return null;
  return isRootOf(principal.arn, account) ? "named" : "account"; // P4
}

function isRootOf(arn: string, account: string): boolean {
  return arn.endsWith(`::${account}:root`);
}

/** A session is also its role, whose path its ARN does not have. */
function isName(identity: string, arn: string): boolean {
  if (identity === arn) return true;
  const role = principalArnOf(arn);
  return role !== arn && identity.replace(/:role\/.*\//, ":role/") === role;
}

/** The role of a session, as aws:PrincipalArn has it; any other ARN as it is. */
export function principalArnOf(arn: string): string {
  const session = /^arn:aws:sts::(\d{12}):assumed-role\/([^/]+)\//.exec(arn);
  return session === null ? arn : `arn:aws:iam::${session[1]}:role/${session[2]}`;
}

function listOf(value: unknown): readonly unknown[] {
  if (value === undefined) return [];
  return Array.isArray(value) ? value : [value];
}
