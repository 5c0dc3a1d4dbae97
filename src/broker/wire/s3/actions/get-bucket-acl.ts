// GetBucketAcl: the owner may do everything, and there is nobody else.

import { writeAcl } from "../acl.ts";
import { ask, type S3Action } from "../s3-call.ts";
import { denied } from "../s3-errors.ts";

export const getBucketAcl: S3Action = {
  name: "GetBucketAcl",
  method: "GET",
  at: "bucket",
  query: ["acl"],
  async run(call) {
    const found = await ask(call, "findBucket", { bucket: call.bucket });
    return found.ok ? writeAcl(call) : denied(call, found.fault);
  },
};
