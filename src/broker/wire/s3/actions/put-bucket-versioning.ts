// PutBucketVersioning: enables or suspends versioning; it cannot be removed again.

import { malformedXml, readDocument } from "../request-body.ts";
import { ask, type S3Action } from "../s3-call.ts";
import { denied, notImplemented } from "../s3-errors.ts";
import { childText, parseXml } from "../xml-input.ts";
import { emptyReply } from "../xml-output.ts";

export const putBucketVersioning: S3Action = {
  name: "PutBucketVersioning",
  method: "PUT",
  at: "bucket",
  query: ["versioning"],
  async run(call) {
    const body = await readDocument(call);
    if (!body.ok) return denied(call, body.fault);
    const root = parseXml(body.value, "VersioningConfiguration");
    const status = root === null ? null : childText(root, "Status");
    if (root === null || (status !== "Enabled" && status !== "Suspended")) {
      return denied(call, malformedXml().fault);
    }
    if (childText(root, "MfaDelete") === "Enabled") return denied(call, notImplemented().fault);
    const set = await ask(call, "setBucketVersioning", { bucket: call.bucket, versioning: status });
    return set.ok ? emptyReply(200) : denied(call, set.fault);
  },
};
