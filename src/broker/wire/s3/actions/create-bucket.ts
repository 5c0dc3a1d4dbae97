// CreateBucket: creates a bucket with the region and the tags of the document. Default: the
// region of the broker, no tags.

import { type Result, succeed } from "../../../../core/result.ts";
import type { S3Fault } from "../../../model/s3/s3-fault.ts";
import { malformedXml, readDocument } from "../request-body.ts";
import { ask, type S3Action, type S3Call } from "../s3-call.ts";
import { denied, refusal } from "../s3-errors.ts";
import { readTagSet } from "../tag-set.ts";
import { childrenOf, childText, parseXml, type XmlNode } from "../xml-input.ts";
import { emptyReply } from "../xml-output.ts";

const REGION = /^(EU|[a-z]{2}(-[a-z]+)+-\d)$/;

export const createBucket: S3Action = {
  name: "CreateBucket",
  method: "PUT",
  at: "bucket",
  async run(call) {
    const body = await readDocument(call);
    if (!body.ok) return denied(call, body.fault);
    const settings = settingsOf(call, body.value);
    if (!settings.ok) return denied(call, settings.fault);
    const made = await ask(call, "createBucket", { bucket: call.bucket, ...settings.value });
    if (!made.ok) return denied(call, made.fault);
    return emptyReply(200, ["Location", `/${call.bucket}`]);
  },
};

interface BucketSettings {
  readonly region: string;
  readonly tags: Record<string, string> | null;
}

function settingsOf(call: S3Call, body: string): Result<BucketSettings, S3Fault> {
  if (body.trim() === "") return succeed({ region: call.server.broker.region, tags: null });
  const root = parseXml(body, "CreateBucketConfiguration");
  if (root === null) return malformedXml();
  const region = regionOf(call, root);
  if (!region.ok) return region;
  const set = childrenOf(root, "Tags")[0];
  if (set === undefined) return succeed({ region: region.value, tags: null });
  const tags = readTagSet(set, "bucket");
  return tags.ok ? succeed({ region: region.value, tags: tags.value }) : tags;
}

function regionOf(call: S3Call, root: XmlNode): Result<string, S3Fault> {
  const { region } = call.server.broker;
  const named = childText(root, "LocationConstraint") ?? "";
  if (named === "") return succeed(region);
  if (named !== "us-east-1" && REGION.test(named)) return succeed(named);
  const message = "The specified location-constraint is not valid";
  return refusal("InvalidLocationConstraint", message, { LocationConstraint: named });
}
