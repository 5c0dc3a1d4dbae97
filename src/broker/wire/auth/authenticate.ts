// Authenticate: who sent a request. One layer before the actions; it is pure, but for the clock of
// the authority.
//   A1. A request has one caller or none. One mechanism counts; two at once are refused.
//   A2. A refused request never runs as anonymous: a wrong signature is not a missing one.

import { type Result, refuseWith, succeed } from "../../../core/result.ts";
import type { HttpRequest } from "../../../ports/http/http.ts";
import type { Authority } from "./access-key.ts";
import type { AuthFault } from "./auth-fault.ts";
import {
  ALGORITHM,
  type SigningScope,
  type VerifiedSignature,
  verifyHeader,
  verifyQuery,
} from "./signature-v4.ts";

/** Whose signature a request has; null if it has none. */
export function authenticate(
  authority: Authority,
  request: HttpRequest,
  scope: SigningScope,
  query: URLSearchParams | null = queryOf(request),
): Result<VerifiedSignature | null, AuthFault> {
  const { authorization } = request.headers;
  const presigned = query !== null && isPresigned(query);
  if (authorization !== undefined && presigned) return refuseWith({ kind: "several" }); // A1
  if (presigned) return verifyQuery(authority, request, query, scope);
  if (authorization === undefined) return succeed(null);
  if (!authorization.startsWith(`${ALGORITHM} `)) return refuseWith({ kind: "mechanism" }); // A2
  return verifyHeader(authority, request, scope);
}

/** Null without a query, as in most requests to SQS. */
function queryOf({ query }: HttpRequest): URLSearchParams | null {
  return query === "" ? null : new URLSearchParams(query);
}

/** Whether the query has a part of a signature of version 4. */
function isPresigned(query: URLSearchParams): boolean {
  return ["Algorithm", "Credential", "Signature"].some((name) => query.has(`X-Amz-${name}`));
}
