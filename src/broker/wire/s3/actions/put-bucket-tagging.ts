// PutBucketTagging: replaces all tags of a bucket.

import { ask, type S3Action } from "../s3-call.ts";
import { denied } from "../s3-errors.ts";
import { readTagging } from "../tag-set.ts";
import { emptyReply } from "../xml-output.ts";

export const putBucketTagging: S3Action = {
  name: "PutBucketTagging",
  method: "PUT",
  at: "bucket",
  query: ["tagging"],
  async run(call) {
    const tags = await readTagging(call, "bucket");
    if (!tags.ok) return denied(call, tags.fault);
    const set = await ask(call, "setBucketTags", { bucket: call.bucket, tags: tags.value });
    return set.ok ? emptyReply(204) : denied(call, set.fault);
  },
};
