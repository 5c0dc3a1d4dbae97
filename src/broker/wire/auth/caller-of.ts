// RequestCaller of: who calls SQS, SNS or STS, or the fault that their protocols answer.

import { type Result, refuseWith, succeed } from "../../../core/result.ts";
import type { HttpRequest } from "../../../ports/http/http.ts";
import type { Fault } from "../../model/fault.ts";
import type { ServerContext } from "../protocol/call.ts";
import { ANONYMOUS, type RequestCaller } from "./access-key.ts";
import { authenticate } from "./authenticate.ts";
import { coralFaultOf } from "./coral-faults.ts";

/** `isLink`: links in notifications are not signed; they contain a value that cannot be guessed. */
export function callerOf(
  { authority, everybody, broker }: ServerContext,
  request: HttpRequest,
  service: string,
  isLink = false,
): Result<RequestCaller, Fault> {
  if (authority === null) return succeed(everybody);
  const scope = { service, region: broker.region };
  const signed = authenticate(authority, request, scope);
  if (!signed.ok) return refuseWith(coralFaultOf(signed.fault, scope));
  if (signed.value !== null) return succeed(signed.value.key.caller);
  if (isLink) return succeed(everybody);
  if (service === "sqs") return succeed(ANONYMOUS); // A queue's policy may allow everybody.
  return refuseWith(coralFaultOf({ kind: "anonymous" }, scope));
}
