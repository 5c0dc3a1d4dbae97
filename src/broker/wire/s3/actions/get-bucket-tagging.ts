// GetBucketTagging: returns the tags of a bucket.

import { ask, type S3Action } from "../s3-call.ts";
import { denied, refusal } from "../s3-errors.ts";
import { writeTagSet } from "../tag-set.ts";
import { xmlReply } from "../xml-output.ts";

export const getBucketTagging: S3Action = {
  name: "GetBucketTagging",
  method: "GET",
  at: "bucket",
  query: ["tagging"],
  async run(call) {
    const lookup = await ask(call, "findBucket", { bucket: call.bucket });
    if (!lookup.ok) return denied(call, lookup.fault);
    const { tags, name } = lookup.value.bucket;
    if (tags !== null) return xmlReply("Tagging", writeTagSet(tags));
    const none = refusal("NoSuchTagSet", "The TagSet does not exist", { BucketName: name });
    return denied(call, none.fault);
  },
};
