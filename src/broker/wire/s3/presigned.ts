// Presigned URLs: how long they are valid. Their end holds whether signatures are checked or not,
// their start only if they are: a virtual clock stands still while clients sign with their own.

import { formatInstant } from "../../../core/encoding/rfc3339.ts";
import { addMs, durationMs, type EpochMs, epochMs, seconds } from "../../../core/units.ts";
import type { S3Refusal } from "../../model/s3/s3-fault.ts";
import { SKEW_MS_MAX } from "../auth/auth-fault.ts";
import { parseBasicDate } from "../auth/signature-time.ts";
import type { S3Call } from "./s3-call.ts";
import { refusal } from "./s3-errors.ts";

const EXPIRES_SECONDS_MAX = 604_800;

/** Returns the refusal of an expired or malformed URL; null for all others. */
export function checkPresigned({ query, server, s3 }: S3Call): S3Refusal | null {
  const { authority } = server;
  const now = authority === null ? s3.now() : authority.systemNow();
  const lifetime = query.get("X-Amz-Expires");
  if (query.has("X-Amz-Signature") && lifetime !== null) {
    return checkLifetime(query.get("X-Amz-Date") ?? "", lifetime, now, authority !== null);
  }
  const until = query.get("Expires");
  if (!query.has("Signature") || until === null) return null;
  if (!/^\d{1,12}$/.test(until)) {
    return refusal("AccessDenied", `Invalid date (should be seconds since epoch): ${until}`);
  }
  const expiresAt = epochMs(Number(until) * 1_000);
  return now > expiresAt ? expired(expiresAt, now, {}) : null;
}

function checkLifetime(
  date: string,
  lifetime: string,
  now: EpochMs,
  isVerified: boolean,
): S3Refusal | null {
  const signed = parseBasicDate(date);
  if (signed === null) {
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
  const expiresAt = addMs(signed, seconds(count));
  const isEarly = isVerified && signed > addMs(now, durationMs(SKEW_MS_MAX));
  if (isEarly) return notYetValid(signed, lifetime, now);
  return now > expiresAt ? expired(expiresAt, now, { "X-Amz-Expires": lifetime }) : null;
}

function notYetValid(signed: EpochMs, lifetime: string, now: EpochMs): S3Refusal {
  return refusal("AccessDenied", "Request is not yet valid", {
    "X-Amz-Expires": lifetime,
    RequestTime: formatInstant(signed),
    ServerTime: formatInstant(now),
  });
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
