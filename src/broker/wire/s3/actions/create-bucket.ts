// CreateBucket: creates a bucket in the region of the document; default: the broker's region.

import { type Result, succeed } from "../../../../core/result.ts";
import type { S3Fault } from "../../../model/s3/s3-fault.ts";
import { malformedXml, readDocument } from "../request-body.ts";
import { ask, type S3Action, type S3Call } from "../s3-call.ts";
import { denied, refusal } from "../s3-errors.ts";
import { childText, parseXml } from "../xml-input.ts";
import { emptyReply } from "../xml-output.ts";

const REGION = /^(EU|[a-z]{2}(-[a-z]+)+-\d)$/;

export const createBucket: S3Action = {
  name: "CreateBucket",
  method: "PUT",
  at: "bucket",
  async run(call) {
    const body = await readDocument(call);
    if (!body.ok) return denied(call, body.fault);
    const region = regionOf(call, body.value);
    if (!region.ok) return denied(call, region.fault);
    const made = await ask(call, "createBucket", {
      bucket: call.bucket,
      region: region.value,
      tags: null,
    });
    if (!made.ok) return denied(call, made.fault);
    return emptyReply(200, ["Location", `/${call.bucket}`]);
  },
};

function regionOf(call: S3Call, body: string): Result<string, S3Fault> {
  const { region } = call.server.broker;
  if (body.trim() === "") return succeed(region);
  const root = parseXml(body, "CreateBucketConfiguration");
  if (root === null) return malformedXml();
  const named = childText(root, "LocationConstraint") ?? "";
  if (named === "") return succeed(region);
  if (named !== "us-east-1" && REGION.test(named)) return succeed(named);
  const message = "The specified location-constraint is not valid";
  return refusal("InvalidLocationConstraint", message, { LocationConstraint: named });
}
