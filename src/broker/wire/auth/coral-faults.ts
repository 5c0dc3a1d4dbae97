// Coral faults: how SQS, SNS and STS say why a request has no caller.
//   F1. A wrong scope and a clock that is wrong are faults of the signature for them, with texts of
//       their own.

import { unreachable } from "../../../core/assert.ts";
import { addMs, durationMs, subtractMs } from "../../../core/units.ts";
import type { Fault } from "../../model/fault.ts";
import { type AuthFault, SKEW_MS_MAX } from "./auth-fault.ts";
import { formatBasicDate, parseBasicDate } from "./signature-time.ts";
import type { SigningScope } from "./signature-v4.ts";

const SKEW = "15 min.";

/** The fault of a request, for a service of the query protocol or of JSON. */
export function coralFaultOf(fault: AuthFault, { service, region }: SigningScope): Fault {
  switch (fault.kind) {
    case "anonymous":
      return service === "sqs"
        ? {
            name: "AccessDenied",
            message: `Access to the resource https://sqs.${region}.amazonaws.com/ is denied.`,
          }
        : {
            name: "MissingAuthenticationToken",
            message: "Request is missing Authentication Token",
          };
    case "mechanism":
    case "several":
    case "incomplete":
    case "incomplete-v2":
    case "no-date":
    case "no-content-hash":
      return { name: "IncompleteSignature", message: incompleteText(fault) };
    case "unknown-key":
    case "token":
      return {
        name: "InvalidClientTokenId",
        message: "The security token included in the request is invalid.",
      };
    case "scope":
      return { name: "SignatureDoesNotMatch", message: scopeText(fault) }; // F1
    case "skew":
      return { name: "SignatureDoesNotMatch", message: skewText(fault) }; // F1
    case "not-signed":
      return {
        name: "SignatureDoesNotMatch",
        message: `${fault.headers.map((name) => `'${name}'`).join(", ")} must be a 'SignedHeader' in the AWS Authorization.`,
      };
    case "mismatch":
      return {
        name: "SignatureDoesNotMatch",
        message:
          "The request signature we calculated does not match the signature you provided. Check " +
          "your AWS Secret Access Key and signing method. Consult the service documentation for " +
          "details.",
      };
    default:
      return unreachable(fault);
  }
}

type OfKind<K extends AuthFault["kind"]> = Extract<AuthFault, { readonly kind: K }>;

function incompleteText(
  fault: OfKind<
    "mechanism" | "several" | "incomplete" | "incomplete-v2" | "no-date" | "no-content-hash"
  >,
): string {
  if (fault.kind === "mechanism") {
    return "Unsupported AWS 'algorithm'; use AWS4-HMAC-SHA256.";
  }
  if (fault.kind === "several") {
    return "The request has a signature in its header and in its query; only one is allowed.";
  }
  if (fault.kind === "incomplete" || fault.kind === "incomplete-v2") {
    const inQuery = fault.kind === "incomplete" && fault.query;
    const [where, prefix] = inQuery ? ["AWS query-string", "X-Amz-"] : ["Authorization header", ""];
    return fault.missing
      .map((name) =>
        inQuery
          ? `${where} parameters must include '${prefix}${name}'.`
          : `${where} requires '${name}' parameter.`,
      )
      .join(" ");
  }
  return "Authorization header requires existence of either a 'X-Amz-Date' or a 'Date' header.";
}

function scopeText({ part, given, expected }: OfKind<"scope">): string {
  switch (part) {
    case "credential":
      return "Credential must have exactly 5 slash-delimited elements, e.g. keyid/date/region/service/term.";
    case "terminator":
      return `Credential should be scoped with a valid terminator: '${expected}'.`;
    case "service":
      return `Credential should be scoped to correct service: '${expected}'. `;
    case "region":
      return "Credential should be scoped to a valid region. ";
    case "date":
      return (
        "Date in Credential scope does not match YYYYMMDD from ISO-8601 version of date from " +
        `HTTP: '${given}' != '${expected.slice(0, 8)}', from '${expected}'.`
      );
    default:
      return unreachable(part);
  }
}

function skewText({ signed, now, late }: OfKind<"skew">): string {
  const at = parseBasicDate(now);
  if (at === null) return "Signature expired.";
  const span = durationMs(SKEW_MS_MAX);
  if (late) {
    const limit = formatBasicDate(subtractMs(at, span));
    return `Signature expired: ${signed} is now earlier than ${limit} (${now} - ${SKEW})`;
  }
  const limit = formatBasicDate(addMs(at, span));
  return `Signature not yet current: ${signed} is still later than ${limit} (${now} + ${SKEW})`;
}
