// DeleteBucketTagging: removes all tags of a bucket.

import { ask, type S3Action } from "../s3-call.ts";
import { denied } from "../s3-errors.ts";
import { emptyReply } from "../xml-output.ts";

export const deleteBucketTagging: S3Action = {
  name: "DeleteBucketTagging",
  method: "DELETE",
  at: "bucket",
  query: ["tagging"],
  async run(call) {
    const set = await ask(call, "setBucketTags", { bucket: call.bucket, tags: null });
    return set.ok ? emptyReply(204) : denied(call, set.fault);
  },
};
