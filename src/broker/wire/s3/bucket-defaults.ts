// Bucket defaults: bucket settings that cannot be changed here. They are returned as S3 returns
// them for a new bucket, because tools that manage whole buckets read all of them.

import type { S3Code } from "../../model/s3/s3-fault.ts";
import { ask, type S3Action } from "./s3-call.ts";
import { denied, refusal } from "./s3-errors.ts";

/** A setting that is not configured by default. */
function absent(name: string, parameter: string, code: S3Code, message: string): S3Action {
  return {
    name,
    method: "GET",
    at: "bucket",
    query: [parameter],
    async run(call) {
      const lookup = await ask(call, "findBucket", { bucket: call.bucket });
      if (!lookup.ok) return denied(call, lookup.fault);
      return denied(call, refusal(code, message, { BucketName: call.bucket }).fault);
    },
  };
}

export const BUCKET_DEFAULTS: readonly S3Action[] = [
  absent(
    "GetBucketReplication",
    "replication",
    "ReplicationConfigurationNotFoundError",
    "The replication configuration was not found",
  ),
  absent(
    "GetObjectLockConfiguration",
    "object-lock",
    "ObjectLockConfigurationNotFoundError",
    "Object Lock configuration does not exist for this bucket",
  ),
];
