// S3 faults: how S3 says why a request has no caller. It distinguishes more than other services.

import { unreachable } from "../../../core/assert.ts";
import { formatInstant } from "../../../core/encoding/rfc3339.ts";
import type { S3Refusal } from "../../model/s3/s3-fault.ts";
import { invalidArgument, refusal } from "../s3/s3-errors.ts";
import { type AuthFault, SKEW_MS_MAX } from "./auth-fault.ts";
import { parseBasicDate } from "./signature-time.ts";

export function s3FaultOf(fault: AuthFault): S3Refusal {
  switch (fault.kind) {
    case "anonymous":
      return refusal("AccessDenied", "Access Denied");
    case "mechanism":
      return refusal(
        "InvalidRequest",
        "The authorization mechanism you have provided is not supported. Please use " +
          "AWS4-HMAC-SHA256.",
      );
    case "several":
      return invalidArgument(
        "Authorization",
        "",
        "Only one auth mechanism allowed; only the X-Amz-Algorithm query parameter, Signature " +
          "query string parameter or the Authorization header should be specified",
      );
    case "incomplete":
      return fault.query
        ? incompleteQuery()
        : malformedHeader(`${fault.missing.join(", ")} missing`);
    case "incomplete-v2":
      return refusal(
        "AccessDenied",
        "Query-string authentication requires the Signature, Expires and AWSAccessKeyId parameters",
      );
    case "scope":
      return scopeFault(fault);
    case "unknown-key":
      return refusal(
        "InvalidAccessKeyId",
        "The AWS Access Key Id you provided does not exist in our records.",
        { AWSAccessKeyId: fault.accessKeyId },
      );
    case "token":
      return refusal("InvalidToken", "The provided token is malformed or otherwise invalid.");
    case "no-date":
      return refusal(
        "AccessDenied",
        "AWS authentication requires a valid Date or x-amz-date header",
      );
    case "no-content-hash":
      return refusal(
        "InvalidRequest",
        "Missing required header for this request: x-amz-content-sha256",
      );
    case "skew":
      return skewFault(fault);
    case "not-signed":
      return refusal(
        "AccessDenied",
        "There were headers present in the request which were not signed",
        { HeadersNotSigned: fault.headers.join(", ") },
      );
    case "mismatch":
      return mismatchFault(fault);
    default:
      return unreachable(fault);
  }
}

type OfKind<K extends AuthFault["kind"]> = Extract<AuthFault, { readonly kind: K }>;

function skewFault(fault: OfKind<"skew">): S3Refusal {
  return refusal(
    "RequestTimeTooSkewed",
    "The difference between the request time and the current time is too large.",
    {
      RequestTime: fault.signed,
      ServerTime: instantOf(fault.now),
      MaxAllowedSkewMilliseconds: String(SKEW_MS_MAX),
    },
  );
}

function mismatchFault(fault: OfKind<"mismatch">): S3Refusal {
  return refusal(
    "SignatureDoesNotMatch",
    "The request signature we calculated does not match the signature you provided. Check " +
      "your key and signing method.",
    {
      AWSAccessKeyId: fault.accessKeyId,
      StringToSign: fault.stringToSign,
      SignatureProvided: fault.signature,
    },
  );
}

function incompleteQuery(): S3Refusal {
  return refusal(
    "AuthorizationQueryParametersError",
    "Query-string authentication version 4 requires the X-Amz-Algorithm, X-Amz-Credential, " +
      "X-Amz-Signature, X-Amz-Date, X-Amz-SignedHeaders, and X-Amz-Expires parameters.",
  );
}

function malformedHeader(what: string, fields?: Readonly<Record<string, string>>): S3Refusal {
  const message = `The authorization header is malformed; ${what}`;
  return refusal("AuthorizationHeaderMalformed", message, fields);
}

function scopeFault(fault: OfKind<"scope">): S3Refusal {
  const fields = fault.part === "region" ? { Region: fault.expected } : undefined;
  const what = scopeText(fault);
  if (!fault.query) return malformedHeader(what, fields);
  return refusal(
    "AuthorizationQueryParametersError",
    `Error parsing the X-Amz-Credential parameter; ${what}`,
    fields,
  );
}

function scopeText({ part, given, expected }: OfKind<"scope">): string {
  switch (part) {
    case "credential":
      return 'the Credential is mal-formed; expecting "<YOUR-AKID>/YYYYMMDD/REGION/SERVICE/aws4_request".';
    case "terminator":
      return `incorrect terminal "${given}". This endpoint uses "${expected}".`;
    case "service":
      return `incorrect service "${given}". This endpoint belongs to "${expected}".`;
    case "region":
      return `the region '${given}' is wrong; expecting '${expected}'`;
    case "date":
      return `Invalid credential date "${given}". This date is not the same as X-Amz-Date: "${expected.slice(0, 8)}".`;
    default:
      return unreachable(part);
  }
}

function instantOf(basic: string): string {
  const at = parseBasicDate(basic);
  return at === null ? basic : formatInstant(at);
}
