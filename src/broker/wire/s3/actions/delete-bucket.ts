// DeleteBucket: deletes an empty bucket.

import { ask, type S3Action } from "../s3-call.ts";
import { denied } from "../s3-errors.ts";
import { emptyReply } from "../xml-output.ts";

export const deleteBucket: S3Action = {
  name: "DeleteBucket",
  method: "DELETE",
  at: "bucket",
  async run(call) {
    const gone = await ask(call, "deleteBucket", { bucket: call.bucket });
    if (!gone.ok) return denied(call, gone.fault);
    call.s3.blobs.remove(gone.value.dropped);
    return emptyReply(204);
  },
};
