// GetBucketAcl: returns the ACL of a bucket; only the owner has permissions.

import { writeAcl } from "../acl.ts";
import { ask, type S3Action } from "../s3-call.ts";
import { denied } from "../s3-errors.ts";

export const getBucketAcl: S3Action = {
  name: "GetBucketAcl",
  method: "GET",
  at: "bucket",
  query: ["acl"],
  async run(call) {
    const lookup = await ask(call, "findBucket", { bucket: call.bucket });
    return lookup.ok ? writeAcl(call) : denied(call, lookup.fault);
  },
};
