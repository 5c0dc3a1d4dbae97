// Conditions and ranges: whether to return an object, and which part of it (RFC 9110).
//   C1. If-Match takes precedence over If-Unmodified-Since, and If-None-Match over
//       If-Modified-Since: the second is ignored if the first is present.
//   C2. A malformed range is ignored; a range that contains no byte is refused.
//   C3. A range of another state of the object than If-Range names is ignored, and all is returned.

import { parseHttpDate } from "../../../core/encoding/http-date.ts";
import { type Result, succeed } from "../../../core/result.ts";
import type { ByteRange } from "../../../ports/broker/blob-store.ts";
import type { StoredObject } from "../../../ports/broker/object-change.ts";
import type { S3Fault, S3Refusal } from "../../model/s3/s3-fault.ts";
import type { WriteConditions } from "../../model/s3/s3-operations.ts";
import type { S3Call } from "./s3-call.ts";
import { notImplemented, refusal } from "./s3-errors.ts";

type Headers = Readonly<Record<string, string | undefined>>;

const MS_PER_SECOND = 1_000;
const NAMES = ["if-match", "if-none-match", "if-modified-since", "if-unmodified-since"] as const;

/** Returns the refusal of a read, or null. `prefix` is "x-amz-copy-source-" for copies. */
export function checkReadConditions(
  headers: Headers,
  object: Pick<StoredObject, "etag" | "modifiedAt">,
  prefix = "",
): S3Refusal | null {
  const [ifMatch, ifNone, modifiedSince, unmodifiedSince] = NAMES.map((n) => headers[prefix + n]);
  const modifiedAt = Math.floor(object.modifiedAt / MS_PER_SECOND) * MS_PER_SECOND;
  if (ifMatch !== undefined) {
    if (!hasEtag(ifMatch, object.etag)) return failed("If-Match");
  } else if (unmodifiedSince !== undefined) {
    const since = parseHttpDate(unmodifiedSince);
    if (since !== null && modifiedAt > since) return failed("If-Unmodified-Since"); // C1
  }
  const unchanged = prefix === "" ? notModified() : failed("If-None-Match");
  if (ifNone !== undefined) return hasEtag(ifNone, object.etag) ? unchanged : null;
  const since = modifiedSince === undefined ? null : parseHttpDate(modifiedSince);
  return since !== null && modifiedAt <= since ? unchanged : null;
}

function hasEtag(header: string, etag: string): boolean {
  if (header.trim() === "*") return true;
  return header.split(",").some((each) => bareEtag(each) === etag);
}

/** An ETag without quotes; some clients send them and some do not. */
export function bareEtag(text: string): string {
  return text
    .trim()
    .replace(/^W\//, "")
    .replace(/^"(.*)"$/, "$1");
}

function failed(condition: string): S3Refusal {
  const message = "At least one of the pre-conditions you specified did not hold";
  return refusal("PreconditionFailed", message, { Condition: condition });
}

function notModified(): S3Refusal {
  return refusal("NotModified", "Not Modified");
}

/** The conditions of a write: only if absent, or only if unchanged. */
export function readWriteConditions(call: S3Call): Result<WriteConditions, S3Fault> {
  const ifMatch = call.request.headers["if-match"];
  const ifNone = call.request.headers["if-none-match"];
  if (ifNone !== undefined && ifNone.trim() !== "*") return notImplemented("If-None-Match");
  if (ifNone !== undefined && ifMatch !== undefined) return notImplemented("If-Match");
  return succeed({
    ifMatch: ifMatch === undefined ? null : bareEtag(ifMatch),
    ifAbsent: ifNone !== undefined,
  });
}

/** Whether the range of a request is for this state of the object (C3). */
export function isRangeValid(
  headers: Headers,
  { etag, modifiedAt }: Pick<StoredObject, "etag" | "modifiedAt">,
): boolean {
  const state = headers["if-range"];
  if (state === undefined) return true;
  const date = parseHttpDate(state);
  return date === null
    ? state.trim() === `"${etag}"`
    : date === Math.floor(modifiedAt / MS_PER_SECOND) * MS_PER_SECOND;
}

/** The bytes that a Range header requests; null for all of them (C2). */
export function readRange(
  header: string | undefined,
  sizeBytes: number,
): Result<ByteRange, S3Fault> | null {
  const match = /^bytes=(\d*)-(\d*)$/.exec(header?.replaceAll(" ", "") ?? "");
  if (match === null) return null;
  const [first, last] = [match[1] as string, match[2] as string];
  if (first === "" && last === "") return null;
  const from = first === "" ? Math.max(sizeBytes - Number(last), 0) : Number(first);
  const through = first === "" || last === "" ? sizeBytes - 1 : Number(last);
  if (first !== "" && last !== "" && through < from) return null;
  if (from >= sizeBytes || (first === "" && Number(last) === 0)) {
    return refusal("InvalidRange", "The requested range is not satisfiable", {
      RangeRequested: header ?? "",
      ActualObjectSize: String(sizeBytes),
    });
  }
  return succeed({ from, through: Math.min(through, sizeBytes - 1) });
}
