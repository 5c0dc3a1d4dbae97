// List parameters: what all listings have in common.

import { type Result, succeed } from "../../../core/result.ts";
import type { S3Fault } from "../../model/s3/s3-fault.ts";
import type { S3Call } from "./s3-call.ts";
import { invalidArgument } from "./s3-errors.ts";

/** The number of items wanted, at most `max`; a larger one is not refused. */
export function readLimit(call: S3Call, name: string, max: number): Result<number, S3Fault> {
  const given = call.query.get(name);
  if (given === null || given === "") return succeed(max);
  const limit = Number(given);
  if (!/^-?\d+$/.test(given)) {
    return invalidArgument(name, given, "Provided max-keys not an integer or within integer range");
  }
  if (limit < 0 || limit > 2_147_483_647) {
    return invalidArgument(
      name,
      given,
      "Argument maxKeys must be an integer between 0 and 2147483647",
    );
  }
  return succeed(Math.min(limit, max));
}

/** How names are told: as they are, or percent-encoded for those who asked. */
export function readEncoding(call: S3Call): Result<(name: string) => string, S3Fault> {
  const encoding = call.query.get("encoding-type");
  if (encoding === null) return succeed((name) => name);
  if (encoding === "url") return succeed(encodeName);
  return invalidArgument("encoding-type", encoding, "Invalid Encoding Method specified in Request");
}

/** As S3 encodes names: like a form, but with the slash kept. */
function encodeName(name: string): string {
  return encodeURIComponent(name)
    .replace(/%2F/g, "/")
    .replace(/%20/g, "+")
    .replace(/[!'()~]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`);
}

export function encodeToken(last: string): string {
  return Buffer.from(last).toString("base64url");
}

/** Null for what is none of our tokens. */
export function decodeToken(token: string): string | null {
  const last = Buffer.from(token, "base64url").toString();
  return last !== "" && encodeToken(last) === token ? last : null;
}
