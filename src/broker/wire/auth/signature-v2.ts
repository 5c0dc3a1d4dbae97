// Signature version 2 in the query, as old clients presign URLs of S3. In headers it is refused, as
// in every region of AWS that was opened since 2014.
//   W1. The parameters that select or change what is read are signed; all others are ignored by S3.
//   W2. Headers of S3 in the query are signed as if they were headers.

import { hmacSha1Base64, isSameSecret } from "../../../core/encoding/hash.ts";
import { type Result, refuseWith, succeed } from "../../../core/result.ts";
import type { HttpRequest } from "../../../ports/http/http.ts";
import type { AccessKey, Authority } from "./access-key.ts";
import type { AuthFault } from "./auth-fault.ts";

const OF_SIGNATURE = ["AWSAccessKeyId", "Signature", "Expires"];

/** Parameters that are signed (W1), beside response-*. */
const SIGNED = new Set(
  (
    "accelerate acl analytics cors delete encryption inventory lifecycle location logging metrics " +
    "notification object-lock ownershipControls partNumber policy policyStatus " +
    "publicAccessBlock replication requestPayment restore tagging torrent uploadId uploads " +
    "versionId versioning versions website"
  ).split(" "),
);

/** `bucket` is that of the host, or null if the path names it. */
export function verifyV2(
  authority: Authority,
  request: HttpRequest,
  query: URLSearchParams,
  bucket: string | null,
): Result<AccessKey, AuthFault> {
  const missing = OF_SIGNATURE.filter((name) => query.getAll(name).length !== 1);
  if (missing.length > 0) return refuseWith({ kind: "incomplete-v2", missing });
  const accessKeyId = query.get("AWSAccessKeyId") as string;
  const signature = query.get("Signature") as string;
  const key = authority.keys.get(accessKeyId);
  if (key === undefined) return refuseWith({ kind: "unknown-key", accessKeyId });
  const amazon = headersOfAmazon(request, query);
  const token = amazon.get("x-amz-security-token") ?? null;
  const isToken =
    key.sessionToken === null || token === null
      ? key.sessionToken === token
      : isSameSecret(token, key.sessionToken);
  if (!isToken) return refuseWith({ kind: "token" });
  const stringToSign = textOf(request, query, { bucket, amazon });
  const expected = hmacSha1Base64(key.secretAccessKey, Buffer.from(stringToSign, "latin1"));
  if (isSameSecret(signature, expected)) return succeed(key);
  return refuseWith({ kind: "mismatch", accessKeyId, stringToSign, signature });
}

interface Resource {
  readonly bucket: string | null;
  readonly amazon: ReadonlyMap<string, string>;
}

function textOf(
  { method, path, headers }: HttpRequest,
  query: URLSearchParams,
  { bucket, amazon }: Resource,
): string {
  const lines = [...amazon].map(([name, value]) => `${name}:${value}\n`);
  const resource = `${bucket === null ? "" : `/${bucket}`}${path}${signedQuery(query)}`;
  return (
    `${method}\n${headers["content-md5"] ?? query.get("content-md5") ?? ""}\n` +
    `${headers["content-type"] ?? query.get("content-type") ?? ""}\n${query.get("Expires")}\n` +
    `${lines.join("")}${resource}`
  );
}

/** Headers of S3, from the request and from its query (W2), sorted by name. */
function headersOfAmazon(
  { headers }: HttpRequest,
  query: URLSearchParams,
): ReadonlyMap<string, string> {
  const given = [...Object.entries(headers), ...query].flatMap(([name, value]) => {
    const lower = name.toLowerCase();
    return lower.startsWith("x-amz-") && value !== undefined ? [[lower, value.trim()]] : [];
  }) as [string, string][];
  return new Map(given.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)));
}

function signedQuery(query: URLSearchParams): string {
  const signed = [...query].filter(
    ([name]) => SIGNED.has(name) || /^response-[a-z-]+$/.test(name), // W1
  );
  if (signed.length === 0) return "";
  const sorted = signed.toSorted(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
  return `?${sorted.map(([name, value]) => (value === "" ? name : `${name}=${value}`)).join("&")}`;
}
