// PutBucketNotificationConfiguration: replaces all notification rules of a bucket; an empty
// document removes them.

import { parseNotification } from "../notification-document.ts";
import { readDocument } from "../request-body.ts";
import { ask, type S3Action } from "../s3-call.ts";
import { denied } from "../s3-errors.ts";
import { emptyReply } from "../xml-output.ts";

export const putBucketNotificationConfiguration: S3Action = {
  name: "PutBucketNotificationConfiguration",
  method: "PUT",
  at: "bucket",
  query: ["notification"],
  async run(call) {
    const body = await readDocument(call);
    if (!body.ok) return denied(call, body.fault);
    const config = parseNotification(body.value);
    if (!config.ok) return denied(call, config.fault);
    const skip = call.request.headers["x-amz-skip-destination-validation"];
    const set = await ask(call, "setBucketNotification", {
      bucket: call.bucket,
      config: config.value,
      validate: skip?.toLowerCase() !== "true",
      origin: call.origin,
    });
    return set.ok ? emptyReply(200) : denied(call, set.fault);
  },
};
