// Upload references: the upload and the part number in a request.

import { S3_UPLOAD_PARTS_MAX } from "../../../core/limits.ts";
import { type Result, succeed } from "../../../core/result.ts";
import type { S3Fault } from "../../model/s3/s3-fault.ts";
import type { S3Call } from "./s3-call.ts";
import { invalidArgument } from "./s3-errors.ts";

export function uploadIn(call: S3Call) {
  return { bucket: call.bucket, key: call.key, upload: call.query.get("uploadId") ?? "" };
}

export function readPartNumber(call: S3Call): Result<number, S3Fault> {
  const value = call.query.get("partNumber") ?? "";
  const number = Number(value);
  if (/^\d+$/.test(value) && number >= 1 && number <= S3_UPLOAD_PARTS_MAX) return succeed(number);
  const message = `Part number must be an integer between 1 and ${S3_UPLOAD_PARTS_MAX}, inclusive`;
  return invalidArgument("partNumber", value, message);
}
