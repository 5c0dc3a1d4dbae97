// HeadBucket: returns whether a bucket exists, and its region.

import { ask, type S3Action } from "../s3-call.ts";
import { denied } from "../s3-errors.ts";
import { emptyReply } from "../xml-output.ts";

export const headBucket: S3Action = {
  name: "HeadBucket",
  method: "HEAD",
  at: "bucket",
  async run(call) {
    const lookup = await ask(call, "findBucket", { bucket: call.bucket });
    if (!lookup.ok) return denied(call, lookup.fault);
    const headers = ["x-amz-bucket-region", lookup.value.bucket.region];
    return emptyReply(200, [...headers, "Content-Type", "application/xml"]);
  },
};
