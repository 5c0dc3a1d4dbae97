// Authorize: whether the caller of a request may do what it asks, by the evaluator of core/access.
//   Z1. Without keys callers are not distinguished, so everything is allowed.
//   Z2. The request is secure if it never leaves the machine, or if a proxy on the same machine
//       received it by TLS. What other machines say about themselves proves nothing.
//   Z3. Everything that an action does is a right of its own; all must be allowed.

import { type AccessDecision, decide } from "../../../core/access/access-decision.ts";
import { type AccessContext, principalArnOf } from "../../../core/access/access-policy.ts";
import { formatInstant } from "../../../core/encoding/rfc3339.ts";
import type { HttpRequest } from "../../../ports/http/http.ts";
import type { ResourceKind } from "../../engine/broker.ts";
import type { ServerContext } from "../protocol/call.ts";
import { isLocal, isOwnAddress } from "../protocol/local-request.ts";
import type { Authority, RequestCaller } from "./access-key.ts";

/** An action on a resource. */
export interface Right {
  /** `sqs:SendMessage`. */
  readonly action: string;
  /** ARN of the resource. */
  readonly resource: string;
  /** Whose policy decides, too; null if the resource has none, or other accounts are refused. */
  readonly policyOf: { readonly kind: ResourceKind; readonly name: string } | null;
  /** Counts instead of the stored policy: one that is about to replace it. */
  readonly newPolicy?: string;
  /** Condition keys of the action. */
  readonly context?: AccessContext;
}

export interface RefusedRight {
  readonly right: Right;
  readonly decision: Extract<AccessDecision, { readonly allowed: false }>;
}

interface AccessCall {
  readonly server: ServerContext;
  readonly request: HttpRequest;
  readonly caller: RequestCaller;
}

/** The first right that the caller does not have, or null. */
export function missingRight(call: AccessCall, rights: readonly Right[]): RefusedRight | null {
  const { authority } = call.server;
  if (authority === null) return null; // Z1
  const context = contextOf(authority, call);
  for (const right of rights) {
    const decision = decideRight(call, right, { ...context, ...right.context });
    if (!decision.allowed) return { right, decision }; // Z3
  }
  return null;
}

function decideRight(
  { server, caller }: Pick<AccessCall, "server" | "caller">,
  { action, resource, policyOf, newPolicy }: Right,
  context: AccessContext,
): AccessDecision {
  const { account, policies, principal } = caller;
  const resourcePolicy =
    newPolicy ??
    (policyOf === null ? undefined : server.broker.resourcePolicy(policyOf.kind, policyOf.name));
  const owner = server.broker.account;
  return decide({ principal, account, policies, action, resource, owner, resourcePolicy, context });
}

/** The sentence of AWS, which ends with the reason. */
export function refusalText(caller: RequestCaller, refused: RefusedRight, action: string): string {
  const { right, decision } = refused;
  const reason = decision.explicit
    ? `with an explicit deny in ${kindText(decision.by.policy)}`
    : `because no ${decision.missing}-based policy allows the ${action} action`;
  return (
    `User: ${caller.arn} is not authorized to perform: ${action} on resource: ${right.resource} ` +
    reason
  );
}

function kindText(policy: "identity" | "resource"): string {
  return policy === "identity" ? "an identity-based policy" : "a resource-based policy";
}

function isFromSecureProxy({ headers, remoteAddress }: HttpRequest): boolean {
  return isOwnAddress(remoteAddress) && headers["x-forwarded-proto"]?.toLowerCase() === "https";
}

/** The keys that every request has. */
function contextOf(authority: Authority, { request, caller, server }: AccessCall): AccessContext {
  const { headers, remoteAddress = "127.0.0.1" } = request;
  const address = remoteAddress.replace(/^::ffff:/, "");
  const now = authority.now();
  const isSecure = isLocal(request) || isFromSecureProxy(request); // Z2
  return {
    ...callerContext(caller),
    "aws:sourceip": address,
    "aws:securetransport": String(isSecure),
    "aws:currenttime": formatInstant(now),
    "aws:epochtime": String(Math.floor(now / 1_000)),
    "aws:useragent": headers["user-agent"],
    "aws:referer": headers.referer,
    "aws:requestedregion": server.broker.region,
    "aws:principalisawsservice": "false",
    "aws:viaawsservice": "false",
  };
}

/** The keys that the caller has. */
export function callerContext({ arn, account, userId }: RequestCaller): AccessContext {
  const name = /:user\/(?:.*\/)?([^/]+)$/.exec(arn)?.[1];
  const type = arn.endsWith(":root")
    ? "Account"
    : arn.includes(":assumed-role/")
      ? "AssumedRole"
      : account === ""
        ? "Anonymous"
        : "User";
  return {
    "aws:principaltype": type,
    "aws:userid": userId,
    ...(account !== "" && {
      "aws:principalarn": principalArnOf(arn),
      "aws:principalaccount": account,
    }),
    ...(name !== undefined && { "aws:username": name }),
  };
}
