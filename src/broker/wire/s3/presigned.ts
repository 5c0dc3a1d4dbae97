// Presigned URLs: signatures are not verified, because requests are not authenticated, but expired
// URLs are refused.

import { formatInstant, parseInstant } from "../../../core/encoding/rfc3339.ts";
import { addMs, type EpochMs, epochMs, seconds } from "../../../core/units.ts";
import type { S3Refusal } from "../../model/s3/s3-fault.ts";
import { refusal } from "./s3-errors.ts";

const EXPIRES_SECONDS_MAX = 604_800;
const BASIC_DATE = /^(\d{4})(\d{2})(\d{2})T(\d{2})(\d{2})(\d{2})Z$/;

/** Returns the refusal of an expired or malformed URL; null for all others. */
export function checkPresigned(query: URLSearchParams, now: EpochMs): S3Refusal | null {
  const lifetime = query.get("X-Amz-Expires");
  if (query.has("X-Amz-Signature") && lifetime !== null) {
    return checkLifetime(query.get("X-Amz-Date") ?? "", lifetime, now);
  }
  const until = query.get("Expires");
  if (!query.has("Signature") || until === null) return null;
  if (!/^\d{1,12}$/.test(until)) {
    return refusal("AccessDenied", `Invalid date (should be seconds since epoch): ${until}`);
  }
  const expiresAt = epochMs(Number(until) * 1_000);
  return now > expiresAt ? expired(expiresAt, now, {}) : null;
}

function checkLifetime(date: string, lifetime: string, now: EpochMs): S3Refusal | null {
  const digits = BASIC_DATE.exec(date);
  const signed = digits === null ? null : parseInstant(extended(digits));
  if (signed === null || signed.kind === "invalid") {
    return malformed("X-Amz-Date must be in the ISO8601 Long Format \"yyyyMMdd'T'HHmmss'Z'\"");
  }
  const count = Number(lifetime);
  if (!Number.isInteger(count)) return malformed("X-Amz-Expires should be a number");
  if (count < 0) return malformed("X-Amz-Expires must be non-negative");
  if (count > EXPIRES_SECONDS_MAX) {
    return malformed(
      `X-Amz-Expires must be less than a week (in seconds) that is ${EXPIRES_SECONDS_MAX}`,
    );
  }
  const expiresAt = addMs(signed.epochMs, seconds(count));
  return now > expiresAt ? expired(expiresAt, now, { "X-Amz-Expires": lifetime }) : null;
}

function extended([, year, month, day, hour, minute, second]: RegExpExecArray): string {
  return `${year}-${month}-${day}T${hour}:${minute}:${second}Z`;
}

function expired(expiresAt: EpochMs, now: EpochMs, fields: Record<string, string>): S3Refusal {
  return refusal("AccessDenied", "Request has expired", {
    ...fields,
    Expires: formatInstant(expiresAt),
    ServerTime: formatInstant(now),
  });
}

function malformed(message: string): S3Refusal {
  return refusal("AuthorizationQueryParametersError", message);
}
