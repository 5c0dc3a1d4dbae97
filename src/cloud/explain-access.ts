// Explain access: which statement decides whether a key may act on a resource, and why, without a
// running cloud. It is the evaluator of requests, on the same keys.
//   E1. The ARN of a bucket has no account: it belongs to the cloud.
//   E2. Some actions of SQS are never open to other accounts, as in a running cloud.

import { callerContext } from "../broker/wire/auth/authorize.ts";
import { isOwnerOnly } from "../broker/wire/auth/coral-access.ts";
import { type AccessDecision, type DecidedBy, decide } from "../core/access/access-decision.ts";
import { refuseConfig } from "../core/errors.ts";
import { type CloudAuth, readAccessKeys } from "./access-keys.ts";

/** The account of a cloud by default. */
const CLOUD_ACCOUNT = "000000000000";

export interface AccessToExplain {
  readonly auth: CloudAuth;
  /** The accessKeyId of the caller. */
  readonly accessKeyId: string;
  /** `sqs:SendMessage`. */
  readonly action: string;
  /** ARN of the resource. */
  readonly resource: string;
  /** The policy of the queue, topic or bucket. */
  readonly resourcePolicy?: string | undefined;
  /** Values of condition keys, by their names. */
  readonly context?: Readonly<Record<string, string>> | undefined;
}

export interface ExplainedAccess {
  readonly allowed: boolean;
  /** One sentence. */
  readonly reason: string;
  /** The statement that decided; null if none did. */
  readonly by: DecidedBy | null;
}

/** Throws if there is no such key, or the keys are invalid. */
export function explainAccess(question: AccessToExplain): ExplainedAccess {
  const { auth, accessKeyId, action, resource, resourcePolicy } = question;
  const keys = readAccessKeys(auth);
  const key = keys.get(accessKeyId);
  if (key === undefined) {
    return refuseConfig(`unknown key "${accessKeyId}"; expected ${[...keys.keys()].join(", ")}`);
  }
  const { caller } = key;
  const given = Object.entries(question.context ?? {});
  const owner = resource.split(":")[4] || CLOUD_ACCOUNT; // E1
  const [service, name = ""] = action.split(":");
  const isClosed = service === "sqs" && owner !== caller.account && isOwnerOnly(name); // E2
  const decision = decide({
    principal: caller.principal,
    account: caller.account,
    policies: caller.policies,
    action,
    resource,
    owner,
    resourcePolicy: isClosed ? undefined : resourcePolicy,
    context: {
      ...callerContext(caller),
      ...Object.fromEntries(given.map(([name, value]) => [name.toLowerCase(), value])),
    },
  });
  const by = decision.allowed || decision.explicit ? decision.by : null;
  const reason = `${caller.arn} ${sentence(decision, action, caller.policies === null)}`;
  return { allowed: decision.allowed, reason, by };
}

function sentence(decision: AccessDecision, action: string, isRoot: boolean): string {
  if (decision.allowed) {
    if (decision.by !== null) return `may: ${statementText(decision.by)} allows ${action}`;
    return isRoot ? "may: it is the root user of the account, and no policy denies it" : "may";
  }
  if (decision.explicit) return `may not: ${statementText(decision.by)} denies ${action}`;
  return decision.missing === "identity"
    ? `may not: none of its policies allows ${action}, and no policy of the resource names it`
    : `may not: the policy of the resource does not allow ${action} to it`;
}

function statementText({ policy, policyIndex, statementIndex, sid }: DecidedBy): string {
  const name = sid === null ? "" : ` ("${sid}")`;
  const where = policy === "identity" ? `policies[${policyIndex}]` : "the policy of the resource";
  return `Statement[${statementIndex}]${name} of ${where}`;
}
