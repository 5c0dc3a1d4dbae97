// GetBucketLocation: the region; nothing for the first of all regions.

import { ask, type S3Action } from "../s3-call.ts";
import { denied } from "../s3-errors.ts";
import { escapeS3Xml, xmlReply } from "../xml-output.ts";

export const getBucketLocation: S3Action = {
  name: "GetBucketLocation",
  method: "GET",
  at: "bucket",
  query: ["location"],
  async run(call) {
    const found = await ask(call, "findBucket", { bucket: call.bucket });
    if (!found.ok) return denied(call, found.fault);
    const { region } = found.value.bucket;
    return xmlReply("LocationConstraint", region === "us-east-1" ? "" : escapeS3Xml(region));
  },
};
