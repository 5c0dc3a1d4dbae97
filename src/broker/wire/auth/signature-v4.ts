// Signature version 4: verifies who signed a request, in its header or in its query.
//   V1. Everything that decides is compared before the signature, and none of it grants anything:
//       only an equal signature does.
//   V2. The host and all headers of AWS that a request has must be signed. A header that was added
//       on the way could otherwise change what the request means.
//   V3. The query must have each part of its signature once.

import { hmacSha256, hmacSha256Hex, isSameSecret, sha256Hex } from "../../../core/encoding/hash.ts";
import { type Result, refuseWith, succeed } from "../../../core/result.ts";
import { addMs, type DurationMs, durationMs, seconds } from "../../../core/units.ts";
import type { HttpHead, HttpRequest } from "../../../ports/http/http.ts";
import type { AccessKey, Authority } from "./access-key.ts";
import { type AuthFault, type ScopePart, SKEW_MS_MAX } from "./auth-fault.ts";
import { canonicalDigest } from "./canonical-request.ts";
import { dateOf, formatBasicDate, parseBasicDate } from "./signature-time.ts";

export const ALGORITHM = "AWS4-HMAC-SHA256";
const TERMINATOR = "aws4_request";
const UNSIGNED = "UNSIGNED-PAYLOAD";
const SIGNING_KEYS_MAX = 256;

/** The region and the service that a request is for. */
export interface SigningScope {
  readonly region: string;
  readonly service: string;
}

/** What a verified signature says, and what signed chunks continue from. */
export interface VerifiedSignature {
  readonly key: AccessKey;
  readonly signingKey: Uint8Array;
  /** `20261119/us-east-1/s3/aws4_request`. */
  readonly scope: string;
  readonly date: string;
  readonly signature: string;
}

/** The parts of a signature, wherever the request has them. */
interface Claim {
  readonly credential: string;
  readonly signedHeaders: readonly string[];
  readonly signature: string;
  readonly date: string;
  readonly token: string | null;
  /** What stands for the body; null if only S3 says. */
  readonly contentHash: string | null;
  /** How long the signature is valid; null for a header. */
  readonly lifetime: DurationMs | null;
  readonly inQuery: boolean;
}

type Verified = Result<VerifiedSignature, AuthFault>;

export function verifyHeader(
  authority: Authority,
  request: HttpRequest,
  scope: SigningScope,
): Verified {
  const claim = readHeader(request);
  return claim.ok ? verify(authority, request, scope, claim.value) : claim;
}

export function verifyQuery(
  authority: Authority,
  request: HttpRequest,
  query: URLSearchParams,
  scope: SigningScope,
): Verified {
  const claim = readQuery(request, query, scope.service === "s3");
  return claim.ok ? verify(authority, request, scope, claim.value) : claim;
}

function readHeader({ headers }: HttpHead): Result<Claim, AuthFault> {
  const parts = new Map<string, string>();
  for (const part of (headers.authorization ?? "").slice(ALGORITHM.length).split(",")) {
    const equals = part.indexOf("=");
    if (equals > 0) parts.set(part.slice(0, equals).trim(), part.slice(equals + 1).trim());
  }
  const date = dateOf(headers);
  const { Credential, SignedHeaders, Signature } = Object.fromEntries(parts);
  const missing = Object.entries({ Credential, Signature, SignedHeaders })
    .filter(([, value]) => !value)
    .map(([name]) => name);
  if (!Credential || !SignedHeaders || !Signature) {
    return refuseWith({ kind: "incomplete", missing, query: false });
  }
  if (date === null) return refuseWith({ kind: "no-date" });
  return succeed({
    credential: Credential,
    signedHeaders: SignedHeaders.split(";"),
    signature: Signature,
    date,
    token: headers["x-amz-security-token"] ?? null,
    contentHash: headers["x-amz-content-sha256"] ?? null,
    lifetime: null,
    inQuery: false,
  });
}

const QUERY_PARTS = ["Algorithm", "Credential", "Signature", "Date", "SignedHeaders"];

function readQuery(
  { headers }: HttpHead,
  query: URLSearchParams,
  isS3: boolean,
): Result<Claim, AuthFault> {
  const part = (name: string) => query.get(`X-Amz-${name}`) ?? "";
  const parts = isS3 ? [...QUERY_PARTS, "Expires"] : QUERY_PARTS;
  const missing = parts.filter(
    (name) => part(name) === "" || query.getAll(`X-Amz-${name}`).length > 1, // V3
  );
  const isOther = part("Algorithm") !== ALGORITHM;
  if (missing.length > 0 || isOther) {
    const names = isOther ? ["Algorithm", ...missing] : missing;
    return refuseWith({ kind: "incomplete", missing: names, query: true });
  }
  const expires = query.get("X-Amz-Expires");
  const isLifetime = expires !== null && /^\d{1,6}$/.test(expires);
  return succeed({
    credential: part("Credential"),
    signedHeaders: part("SignedHeaders").split(";"),
    signature: part("Signature"),
    date: part("Date"),
    token: query.get("X-Amz-Security-Token") ?? headers["x-amz-security-token"] ?? null,
    contentHash: headers["x-amz-content-sha256"] ?? query.get("X-Amz-Content-Sha256") ?? UNSIGNED,
    lifetime: isLifetime ? seconds(Number(expires)) : durationMs(SKEW_MS_MAX),
    inQuery: true,
  });
}

function verify(
  authority: Authority,
  request: HttpRequest,
  expected: SigningScope,
  claim: Claim,
): Verified {
  const scope = readScope(claim, expected);
  if (!scope.ok) return scope;
  const key = authority.keys.get(scope.value.accessKeyId);
  if (key === undefined) {
    return refuseWith({ kind: "unknown-key", accessKeyId: scope.value.accessKeyId });
  }
  if (!hasToken(key, claim.token)) return refuseWith({ kind: "token" });
  const refused = checkTime(authority, claim) ?? checkSignedHeaders(request, claim);
  if (refused !== null) return refuseWith(refused);
  const isS3 = expected.service === "s3";
  const payload = isS3 ? claim.contentHash : sha256Hex(request.body);
  if (payload === null) return refuseWith({ kind: "no-content-hash" });
  const { signedHeaders, inQuery, date, signature } = claim;
  const digest = canonicalDigest({ head: request, signedHeaders, payload, isS3, inQuery });
  const stringToSign = `${ALGORITHM}\n${date}\n${scope.value.text}\n${digest}`;
  const signingKey = signingKeyOf(authority, key, scope.value.text);
  if (!isSameSecret(signature, hmacSha256Hex(signingKey, stringToSign))) {
    const { accessKeyId } = key;
    return refuseWith({ kind: "mismatch", accessKeyId, stringToSign, signature }); // V1
  }
  return succeed({ key, signingKey, scope: scope.value.text, date, signature });
}

interface ReadScope {
  readonly accessKeyId: string;
  readonly text: string;
}

function readScope(claim: Claim, expected: SigningScope): Result<ReadScope, AuthFault> {
  const { credential, inQuery: query } = claim;
  const wrong = (part: ScopePart, given: string, right: string): Result<never, AuthFault> =>
    refuseWith({ kind: "scope", part, given, expected: right, query });
  const elements = credential.split("/");
  const [accessKeyId = "", date = "", region = "", service = "", terminator = ""] = elements;
  if (elements.length !== 5 || accessKeyId === "") return wrong("credential", credential, "");
  if (terminator !== TERMINATOR) return wrong("terminator", terminator, TERMINATOR);
  if (service !== expected.service) return wrong("service", service, expected.service);
  if (region !== expected.region) return wrong("region", region, expected.region);
  if (date !== claim.date.slice(0, date.length) || date.length !== 8) {
    return wrong("date", date, claim.date);
  }
  return succeed({ accessKeyId, text: `${date}/${region}/${service}/${terminator}` });
}

function hasToken({ sessionToken }: AccessKey, given: string | null): boolean {
  if (sessionToken === null || given === null) return sessionToken === given;
  return isSameSecret(given, sessionToken);
}

function checkTime(authority: Authority, { date, lifetime }: Claim): AuthFault | null {
  const signed = parseBasicDate(date);
  if (signed === null) return { kind: "no-date" };
  const now = authority.systemNow();
  const skew = durationMs(SKEW_MS_MAX);
  const fault = { kind: "skew", signed: date, now: formatBasicDate(now) } as const;
  if (signed > addMs(now, skew)) return { ...fault, late: false };
  return now > addMs(signed, lifetime ?? skew) ? { ...fault, late: true } : null;
}

/** Their values are in the text that is signed, whether the header is listed or not. */
const ALWAYS_COVERED = new Set(["x-amz-date", "x-amz-content-sha256"]);

function checkSignedHeaders({ headers }: HttpHead, { signedHeaders }: Claim): AuthFault | null {
  const unsigned = Object.keys(headers).filter((name) => {
    if (headers[name] === undefined || signedHeaders.includes(name)) return false;
    return name === "host" || (name.startsWith("x-amz-") && !ALWAYS_COVERED.has(name)); // V2
  });
  return unsigned.length === 0 ? null : { kind: "not-signed", headers: unsigned };
}

const signingKeys = new WeakMap<Authority, Map<string, Uint8Array>>();

/** The key of a day, a region and a service; it is the same for all requests of that day. */
function signingKeyOf(authority: Authority, key: AccessKey, scope: string): Uint8Array {
  let derived = signingKeys.get(authority);
  if (derived === undefined || derived.size >= SIGNING_KEYS_MAX) {
    derived = new Map();
    signingKeys.set(authority, derived);
  }
  const name = `${key.accessKeyId}/${scope}`;
  const existing = derived.get(name);
  if (existing !== undefined) return existing;
  let signingKey: string | Uint8Array = `AWS4${key.secretAccessKey}`;
  for (const element of scope.split("/")) signingKey = hmacSha256(signingKey, element);
  derived.set(name, signingKey as Uint8Array);
  return signingKey as Uint8Array;
}
