// GetBucketLocation: returns the region; empty for us-east-1.

import { ask, type S3Action } from "../s3-call.ts";
import { denied } from "../s3-errors.ts";
import { escapeS3Xml, xmlReply } from "../xml-output.ts";

export const getBucketLocation: S3Action = {
  name: "GetBucketLocation",
  method: "GET",
  at: "bucket",
  query: ["location"],
  async run(call) {
    const lookup = await ask(call, "findBucket", { bucket: call.bucket });
    if (!lookup.ok) return denied(call, lookup.fault);
    const { region } = lookup.value.bucket;
    return xmlReply("LocationConstraint", region === "us-east-1" ? "" : escapeS3Xml(region));
  },
};
