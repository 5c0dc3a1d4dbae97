// GetObjectTagging: returns the tags of a version.

import type { ObjectDetail } from "../../../model/s3/object-detail.ts";
import { ask, type S3Action, versionOf } from "../s3-call.ts";
import { denied } from "../s3-errors.ts";
import { writeTagSet } from "../tag-set.ts";
import { xmlReply } from "../xml-output.ts";

export const getObjectTagging: S3Action = {
  name: "GetObjectTagging",
  method: "GET",
  at: "object",
  query: ["tagging"],
  async run(call) {
    const { bucket, key } = call;
    const lookup = await ask(call, "findObject", { bucket, key, version: versionOf(call) });
    if (!lookup.ok) return denied(call, lookup.fault);
    const { object, version } = lookup.value;
    const { tags } = JSON.parse(object.detail) as ObjectDetail;
    const headers = version === null ? [] : ["x-amz-version-id", version];
    return xmlReply("Tagging", writeTagSet(tags), headers);
  },
};
