// Claim check: replaces a payload that is too large for a message.
//   K1. The object's key is derived from the event and its payload: sending again gives the same
//       object and thus the same message.
//   K2. Fetched bytes are compared with the digest in the message before anything reads them.
//   K3. The name of the only member is reserved: a payload that contains it is rejected.

import { canonicalJson, type JsonObject } from "../encoding/canonical-json.ts";
import { sha256Hex } from "../encoding/hash.ts";
import { parseStrictJson } from "../encoding/strict-json.ts";
import { refuseValue, TidegateError } from "../errors.ts";
import { asObject, memberOf } from "./problem.ts";

const MEMBER = "tidegate_claim_check";

export interface ClaimCheck {
  readonly bucket: string;
  readonly key: string;
  readonly bytes: number;
  readonly sha256: string;
}

/** The payload to send instead of the real one, and the bytes to store where it points (K1). */
export function writeClaimCheck(
  location: { readonly bucket: string; readonly prefix: string; readonly eventKey: string },
  payload: JsonObject,
): { readonly check: ClaimCheck; readonly payload: JsonObject; readonly bytes: Uint8Array } {
  const bytes = new TextEncoder().encode(canonicalJson(payload));
  const sha256 = sha256Hex(bytes);
  const key = `${location.prefix}${location.eventKey.replace(/[^\w.-]/g, "-")}/${sha256}.json`;
  const check = { bucket: location.bucket, key, bytes: bytes.byteLength, sha256 };
  return { check, payload: { [MEMBER]: { ...check } }, bytes };
}

/** Whether a payload contains the reserved name (K3). */
export function mentionsClaimCheck(payload: JsonObject): boolean {
  return Object.hasOwn(payload, MEMBER);
}

/** Where the real payload is, or undefined if this is the payload itself. */
export function readClaimCheck(payload: JsonObject): ClaimCheck | undefined {
  const check = asObject(memberOf(payload, MEMBER));
  if (check === undefined) return undefined;
  const { bucket, key, bytes, sha256 } = check;
  const sound =
    typeof bucket === "string" &&
    typeof key === "string" &&
    typeof bytes === "number" &&
    typeof sha256 === "string";
  if (!sound) throw new TidegateError("TG_VALUE_INVALID", "the claim check is incomplete");
  return { bucket, key, bytes, sha256 };
}

/** The payload in fetched bytes; throws if they are not the stored ones (K2). */
export function redeemClaimCheck(check: ClaimCheck, bytes: Uint8Array): JsonObject {
  const where = `s3://${check.bucket}/${check.key}`;
  if (bytes.byteLength !== check.bytes || sha256Hex(bytes) !== check.sha256) {
    refuseValue(`the object ${where} is not the payload that was sent`);
  }
  const parsed = parseStrictJson(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  const payload = parsed.kind === "value" ? asObject(parsed.value) : undefined;
  if (payload !== undefined) return payload;
  throw new TidegateError("TG_VALUE_INVALID", `the object ${where} does not contain a JSON object`);
}
