// AbortMultipartUpload: deletes an upload and all of its parts.

import { ask, type S3Action } from "../s3-call.ts";
import { denied } from "../s3-errors.ts";
import { uploadIn } from "../upload-reference.ts";
import { emptyReply } from "../xml-output.ts";

export const abortMultipartUpload: S3Action = {
  name: "AbortMultipartUpload",
  method: "DELETE",
  at: "object",
  query: ["uploadId"],
  async run(call) {
    const gone = await ask(call, "abortUpload", uploadIn(call));
    if (!gone.ok) return denied(call, gone.fault);
    call.s3.blobs.remove(gone.value.dropped);
    return emptyReply(204);
  },
};
