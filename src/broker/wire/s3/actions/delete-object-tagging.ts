// DeleteObjectTagging: removes all tags of a version.

import { ask, type S3Action, versionOf } from "../s3-call.ts";
import { denied } from "../s3-errors.ts";
import { emptyReply } from "../xml-output.ts";

export const deleteObjectTagging: S3Action = {
  name: "DeleteObjectTagging",
  method: "DELETE",
  at: "object",
  query: ["tagging"],
  async run(call) {
    const { bucket, key, origin } = call;
    const version = versionOf(call);
    const set = await ask(call, "setObjectTags", { bucket, key, version, tags: null, origin });
    if (!set.ok) return denied(call, set.fault);
    const tagged = set.value.version;
    return emptyReply(204, tagged === null ? [] : ["x-amz-version-id", tagged]);
  },
};
