// List parameters: parsing that all list actions share.

import { type Result, succeed } from "../../../core/result.ts";
import type { S3Fault } from "../../model/s3/s3-fault.ts";
import type { S3Call } from "./s3-call.ts";
import { invalidArgument } from "./s3-errors.ts";

/** The requested number of items, capped at `max`; a larger number is not refused. */
export function readLimit(call: S3Call, name: string, max: number): Result<number, S3Fault> {
  const value = call.query.get(name);
  if (value === null || value === "") return succeed(max);
  const limit = Number(value);
  if (!/^-?\d+$/.test(value)) {
    return invalidArgument(name, value, "Provided max-keys not an integer or within integer range");
  }
  if (limit < 0 || limit > 2_147_483_647) {
    return invalidArgument(
      name,
      value,
      "Argument maxKeys must be an integer between 0 and 2147483647",
    );
  }
  return succeed(Math.min(limit, max));
}

/** How names are written: unchanged, or percent-encoded if requested. */
export function readEncoding(call: S3Call): Result<(name: string) => string, S3Fault> {
  const encoding = call.query.get("encoding-type");
  if (encoding === null) return succeed((name) => name);
  if (encoding === "url") return succeed(encodeName);
  return invalidArgument("encoding-type", encoding, "Invalid Encoding Method specified in Request");
}

/** Encodes a name as S3 does: like a form, but without encoding the slash. */
function encodeName(name: string): string {
  return encodeURIComponent(name)
    .replace(/%2F/g, "/")
    .replace(/%20/g, "+")
    .replace(/[!'()~]/g, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`);
}

export function encodeToken(last: string): string {
  return Buffer.from(last).toString("base64url");
}

/** Returns null for a token that this server did not issue. */
export function decodeToken(token: string): string | null {
  const last = Buffer.from(token, "base64url").toString();
  return last !== "" && encodeToken(last) === token ? last : null;
}
