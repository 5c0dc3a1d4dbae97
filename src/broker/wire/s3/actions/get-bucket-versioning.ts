// GetBucketVersioning: returns the status; empty for a bucket that was never versioned.

import { ask, type S3Action } from "../s3-call.ts";
import { denied } from "../s3-errors.ts";
import { optionalText, xmlReply } from "../xml-output.ts";

export const getBucketVersioning: S3Action = {
  name: "GetBucketVersioning",
  method: "GET",
  at: "bucket",
  query: ["versioning"],
  async run(call) {
    const lookup = await ask(call, "findBucket", { bucket: call.bucket });
    if (!lookup.ok) return denied(call, lookup.fault);
    const status = optionalText("Status", lookup.value.bucket.versioning);
    return xmlReply("VersioningConfiguration", status);
  },
};
