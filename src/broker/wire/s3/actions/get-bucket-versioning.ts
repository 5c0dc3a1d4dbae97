// GetBucketVersioning: nothing for a bucket that never had any.

import { ask, type S3Action } from "../s3-call.ts";
import { denied } from "../s3-errors.ts";
import { optionalText, xmlReply } from "../xml-output.ts";

export const getBucketVersioning: S3Action = {
  name: "GetBucketVersioning",
  method: "GET",
  at: "bucket",
  query: ["versioning"],
  async run(call) {
    const found = await ask(call, "findBucket", { bucket: call.bucket });
    if (!found.ok) return denied(call, found.fault);
    const status = optionalText("Status", found.value.bucket.versioning);
    return xmlReply("VersioningConfiguration", status);
  },
};
