// HeadBucket: whether it is there, and where.

import { ask, type S3Action } from "../s3-call.ts";
import { denied } from "../s3-errors.ts";
import { emptyReply } from "../xml-output.ts";

export const headBucket: S3Action = {
  name: "HeadBucket",
  method: "HEAD",
  at: "bucket",
  async run(call) {
    const found = await ask(call, "findBucket", { bucket: call.bucket });
    if (!found.ok) return denied(call, found.fault);
    const headers = ["x-amz-bucket-region", found.value.bucket.region];
    return emptyReply(200, [...headers, "Content-Type", "application/xml"]);
  },
};
