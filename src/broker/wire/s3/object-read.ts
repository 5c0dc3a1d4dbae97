// Object reads: code that GetObject and HeadObject share.
//   R1. Response headers that a presigned URL overrides are sanitized, so that a value cannot end
//       the header.

import { type Result, succeed } from "../../../core/result.ts";
import type { ByteRange } from "../../../ports/broker/blob-store.ts";
import type { StoredObject } from "../../../ports/broker/object-change.ts";
import type { ObjectDetail } from "../../model/s3/object-detail.ts";
import type { S3Fault } from "../../model/s3/s3-fault.ts";
import { checksumHeaders, objectHeaders } from "./object-headers.ts";
import { checkReadConditions, isRangeValid, readRange } from "./read-conditions.ts";
import { ask, type S3Call, versionOf } from "./s3-call.ts";
import { invalidArgument, refusal } from "./s3-errors.ts";

export interface ObjectRead {
  readonly object: StoredObject;
  readonly detail: ObjectDetail;
  readonly version: string | null;
  /** `through` is less than `from` if the range is empty. */
  readonly range: ByteRange;
  readonly status: 200 | 206;
  /** The number of parts, if the request asks for one part. */
  readonly partsCount: number | null;
}

const OVERRIDES: Readonly<Record<string, string>> = {
  "response-cache-control": "cache-control",
  "response-content-disposition": "content-disposition",
  "response-content-encoding": "content-encoding",
  "response-content-language": "content-language",
  "response-content-type": "content-type",
  "response-expires": "expires",
};

export async function findRead(call: S3Call): Promise<Result<ObjectRead, S3Fault>> {
  const { bucket, key, request } = call;
  const lookup = await ask(call, "findObject", { bucket, key, version: versionOf(call) });
  if (!lookup.ok) return lookup;
  const { object, version } = lookup.value;
  const refused = checkReadConditions(request.headers, object);
  if (refused !== null) return refused;
  const detail = JSON.parse(object.detail) as ObjectDetail;
  const base = { object, detail, version, partsCount: null };
  const part = call.query.get("partNumber");
  if (part !== null) return readPart(call, base, part);
  const requested = isRangeValid(request.headers, object) ? request.headers.range : undefined;
  const range = readRange(requested, object.sizeBytes);
  if (range === null) {
    const whole = { from: 0, through: object.sizeBytes - 1 };
    return succeed({ ...base, range: whole, status: 200 });
  }
  return range.ok ? succeed({ ...base, range: range.value, status: 206 }) : range;
}

function readPart(
  call: S3Call,
  base: Omit<ObjectRead, "range" | "status">,
  part: string,
): Result<ObjectRead, S3Fault> {
  const { pieces, etag } = base.object;
  if (call.request.headers.range !== undefined) {
    return refusal(
      "InvalidRequest",
      "Cannot specify both Range header and partNumber query parameter",
    );
  }
  const number = Number(part);
  if (!/^\d+$/.test(part) || number < 1 || number > 10_000) {
    return invalidArgument(
      "partNumber",
      part,
      "Part number must be an integer between 1 and 10000, inclusive",
    );
  }
  const multipart = /-\d+$/.test(etag);
  const piece = pieces[number - 1];
  if (piece === undefined && !(number === 1 && !multipart)) {
    return refusal("InvalidPartNumber", "The requested partnumber is not satisfiable", {
      PartNumberRequested: part,
      ActualPartCount: String(pieces.length),
    });
  }
  const from = pieces.slice(0, number - 1).reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
  const range = { from, through: from + (piece?.sizeBytes ?? 0) - 1 };
  const partsCount = multipart ? pieces.length : null;
  return succeed({ ...base, range, status: 206, partsCount });
}

export function readHeaders(call: S3Call, read: ObjectRead): string[] {
  const { object, detail, version, range, status, partsCount } = read;
  const headers = objectHeaders(object, overridden(call, detail), version);
  if (status === 206 && range.through >= range.from) {
    headers.push("Content-Range", `bytes ${range.from}-${range.through}/${object.sizeBytes}`);
  }
  if (partsCount !== null) headers.push("x-amz-mp-parts-count", String(partsCount));
  const withChecksum = call.request.headers["x-amz-checksum-mode"]?.toUpperCase() === "ENABLED";
  return withChecksum && status === 200
    ? [...headers, ...checksumHeaders(detail.checksum)]
    : headers;
}

function overridden(call: S3Call, detail: ObjectDetail): ObjectDetail {
  const headers = { ...detail.headers };
  for (const [parameter, name] of Object.entries(OVERRIDES)) {
    const value = call.query.get(parameter);
    if (value !== null) headers[name] = headerSafe(value); // R1
  }
  return { ...detail, headers };
}

/** Encodes UTF-8 as bytes, and drops characters that would end the header. */
function headerSafe(value: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: it drops control characters.
  return Buffer.from(value.replace(/[\u0000-\u001f\u007f]/g, ""), "utf8").toString("latin1");
}
