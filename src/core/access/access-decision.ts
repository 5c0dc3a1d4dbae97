// Access decision: whether a caller may act on a resource, by all policies that concern it, and
// which statement decided.
//   D1. An explicit Deny anywhere refuses. Otherwise, within one account, the caller's policies or
//       that of the resource must allow; across accounts, both must.
//   D2. The root user of an account needs no policy in it. A policy of a resource can still deny.
//       It cannot keep the root user from the policy of a bucket.
//   D3. Services and anonymous callers have no policies, so only that of the resource can allow.

import {
  type AccessContext,
  type AccessPrincipal,
  explainPolicy,
  type PolicyVerdict,
} from "./access-policy.ts";

export interface AccessQuestion {
  readonly principal: AccessPrincipal;
  /** Account of the caller; empty for services and anonymous callers. */
  readonly account: string;
  /** Texts of the caller's policies; null for the root user (D2). */
  readonly policies: readonly string[] | null;
  readonly action: string;
  readonly resource: string;
  /** Account that owns the resource. */
  readonly owner: string;
  readonly resourcePolicy: string | undefined;
  readonly context: AccessContext;
}

/** The statement that decided. */
export interface DecidedBy {
  readonly policy: "identity" | "resource";
  /** Position of the policy among those of the caller; 0 for that of a resource. */
  readonly policyIndex: number;
  readonly statementIndex: number;
  readonly sid: string | null;
}

export type AccessDecision =
  | { readonly allowed: true; readonly by: DecidedBy | null }
  | { readonly allowed: false; readonly explicit: true; readonly by: DecidedBy }
  /** No statement allows; `missing` is the kind of policy that would have to. */
  | { readonly allowed: false; readonly explicit: false; readonly missing: DecidedBy["policy"] };

const BUCKET_POLICY_ACTION = /^s3:(?:Get|Put|Delete)BucketPolicy$/i;

export function decide(question: AccessQuestion): AccessDecision {
  const { principal, policies, account, owner, resourcePolicy } = question;
  const ask = { action: question.action, resource: question.resource, context: question.context };
  const ofResource = explainPolicy(resourcePolicy, { ...ask, principal });
  const ofCaller = (policies ?? []).map((text) => explainPolicy(text, { ...ask, principal: null }));
  const denied = ofCaller.findIndex(({ verdict }) => verdict === "deny");
  if (denied >= 0) return { allowed: false, explicit: true, by: by("identity", denied, ofCaller) };
  const isRoot = policies === null && account === owner;
  const isExempt = isRoot && BUCKET_POLICY_ACTION.test(question.action); // D2
  if (ofResource.verdict === "deny" && !isExempt) {
    return { allowed: false, explicit: true, by: by("resource", 0, [ofResource]) }; // D1
  }
  const allowing = ofCaller.findIndex(({ verdict }) => verdict === "allow");
  const hasIdentity = policies === null || allowing >= 0;
  const byCaller = allowing >= 0 ? by("identity", allowing, ofCaller) : null;
  const byResource = ofResource.verdict === "allow" ? by("resource", 0, [ofResource]) : null;
  if (!("arn" in principal)) {
    if (byResource !== null) return { allowed: true, by: byResource }; // D3
    return { allowed: false, explicit: false, missing: "resource" };
  }
  if (account !== owner) {
    if (!hasIdentity) return { allowed: false, explicit: false, missing: "identity" };
    if (byResource === null) return { allowed: false, explicit: false, missing: "resource" };
    return { allowed: true, by: byResource };
  }
  if (hasIdentity) return { allowed: true, by: byCaller }; // D2
  if (byResource !== null && !ofResource.viaAccount) return { allowed: true, by: byResource };
  return { allowed: false, explicit: false, missing: "identity" };
}

function by(
  policy: DecidedBy["policy"],
  policyIndex: number,
  verdicts: readonly PolicyVerdict[],
): DecidedBy {
  const { index, sid } = verdicts[policyIndex] as PolicyVerdict;
  return { policy, policyIndex, statementIndex: index ?? 0, sid };
}
