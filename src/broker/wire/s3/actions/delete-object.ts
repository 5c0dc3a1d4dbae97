// DeleteObject: adds a delete marker in a versioned bucket, otherwise deletes the object.

import { reportFailure } from "../../protocol/failure.ts";
import { bareEtag } from "../read-conditions.ts";
import { ask, type S3Action, versionOf } from "../s3-call.ts";
import { denied } from "../s3-errors.ts";
import { emptyReply } from "../xml-output.ts";

export const deleteObject: S3Action = {
  name: "DeleteObject",
  method: "DELETE",
  at: "object",
  async run(call) {
    const { bucket, key, origin } = call;
    const match = call.request.headers["if-match"];
    const ifMatch = match === undefined ? null : bareEtag(match);
    const entries = [{ key, version: versionOf(call), ifMatch }];
    const gone = await ask(call, "deleteObjects", { bucket, entries, origin });
    if (!gone.ok) return denied(call, gone.fault);
    call.s3.blobs.remove(gone.value.dropped);
    for (const error of gone.value.damage) reportFailure(call.server, call.request, error);
    const [result] = gone.value.results;
    if (result === undefined) return emptyReply(204);
    if (result.fault !== null) return denied(call, result.fault);
    const headers: string[] = [];
    if (result.marker !== null) headers.push("x-amz-delete-marker", "true");
    const version = result.marker?.version ?? result.version;
    if (version !== null) headers.push("x-amz-version-id", version);
    return emptyReply(204, headers);
  },
};
