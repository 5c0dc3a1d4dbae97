// PutObjectTagging: replaces all tags of a version.

import { ask, type S3Action, versionOf } from "../s3-call.ts";
import { denied } from "../s3-errors.ts";
import { readTagging } from "../tag-set.ts";
import { emptyReply } from "../xml-output.ts";

export const putObjectTagging: S3Action = {
  name: "PutObjectTagging",
  method: "PUT",
  at: "object",
  query: ["tagging"],
  async run(call) {
    const tags = await readTagging(call, "object");
    if (!tags.ok) return denied(call, tags.fault);
    const { bucket, key, origin } = call;
    const version = versionOf(call);
    const set = await ask(call, "setObjectTags", {
      bucket,
      key,
      version,
      tags: tags.value,
      origin,
    });
    if (!set.ok) return denied(call, set.fault);
    const tagged = set.value.version;
    return emptyReply(200, tagged === null ? [] : ["x-amz-version-id", tagged]);
  },
};
