// S3 caller: who calls S3, or the fault that it answers.

import { type Result, refuseWith, succeed } from "../../../core/result.ts";
import type { S3Fault } from "../../model/s3/s3-fault.ts";
import { bucketOfHost } from "../s3/s3-address.ts";
import type { S3Call } from "../s3/s3-call.ts";
import { ANONYMOUS, type Authority, type RequestCaller } from "./access-key.ts";
import type { AuthFault } from "./auth-fault.ts";
import { authenticate } from "./authenticate.ts";
import { s3FaultOf } from "./s3-faults.ts";
import { verifyV2 } from "./signature-v2.ts";
import type { VerifiedSignature } from "./signature-v4.ts";

/** The call of the one who signed it; the same call where no signatures are checked. */
export function identify(call: S3Call): Result<S3Call, S3Fault> {
  const { authority } = call.server;
  if (authority === null) return succeed(call);
  const signer = signerOf(authority, call);
  if (!signer.ok) return s3FaultOf(signer.fault);
  const { caller, signed } = signer.value;
  const principalId = caller === ANONYMOUS ? "Anonymous" : `AWS:${caller.userId}`;
  return succeed({ ...call, caller, signed, origin: { ...call.origin, principalId } });
}

interface Signer {
  readonly caller: RequestCaller;
  /** Null if chunks are not signed. */
  readonly signed: VerifiedSignature | null;
}

function signerOf(authority: Authority, call: S3Call): Result<Signer, AuthFault> {
  const { request, query, s3 } = call;
  const scope = { service: "s3", region: call.server.broker.region };
  const verified = authenticate(authority, request, scope, query);
  if (!verified.ok) return verified;
  const isV2 = query.has("AWSAccessKeyId") || query.has("Signature");
  if (verified.value !== null) {
    if (isV2) return refuseWith({ kind: "several" });
    return succeed({ caller: verified.value.key.caller, signed: verified.value });
  }
  if (!isV2) return succeed({ caller: ANONYMOUS, signed: null }); // A bucket's policy may allow it.
  const host = request.headers.host ?? "";
  const key = verifyV2(authority, request, query, bucketOfHost(host, s3.baseHost));
  return key.ok ? succeed({ caller: key.value.caller, signed: null }) : key;
}
