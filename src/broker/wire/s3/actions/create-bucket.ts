// CreateBucket: creates a bucket with the region and the tags of the document, and the ownership
// of the header. Default: the region of the broker, no tags, the bucket owner.

import { type Result, succeed } from "../../../../core/result.ts";
import type { BucketRecord } from "../../../model/s3/bucket.ts";
import type { S3Fault } from "../../../model/s3/s3-fault.ts";
import { OWNERSHIPS, writeOwnership } from "../configs/ownership.ts";
import { malformedXml, readDocument } from "../request-body.ts";
import { ask, type S3Action, type S3Call } from "../s3-call.ts";
import { denied, invalidArgument, notImplemented, refusal } from "../s3-errors.ts";
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
    const configs = ownershipOf(call);
    if (!configs.ok) return denied(call, configs.fault);
    const made = await ask(call, "createBucket", {
      bucket: call.bucket,
      ...settings.value,
      configs: configs.value,
    });
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
  // Directory buckets have these elements.
  const directory = ["Location", "Bucket"].find((name) => childrenOf(root, name).length > 0);
  if (directory !== undefined) return notImplemented(directory);
  const region = regionOf(call, root);
  if (!region.ok) return region;
  const set = childrenOf(root, "Tags")[0];
  if (set === undefined) return succeed({ region: region.value, tags: null });
  const tags = readTagSet(set, "bucket");
  return tags.ok ? succeed({ region: region.value, tags: tags.value }) : tags;
}

function ownershipOf(call: S3Call): Result<BucketRecord["configs"], S3Fault> {
  const header = "x-amz-object-ownership";
  const ownership = call.request.headers[header];
  if (ownership === undefined) return succeed({});
  if (OWNERSHIPS.has(ownership)) {
    return succeed({ ownershipControls: writeOwnership(ownership) });
  }
  return invalidArgument(header, ownership, "Invalid x-amz-object-ownership header");
}

function regionOf(call: S3Call, root: XmlNode): Result<string, S3Fault> {
  const { region } = call.server.broker;
  const named = childText(root, "LocationConstraint") ?? "";
  if (named === "") return succeed(region);
  if (named !== "us-east-1" && REGION.test(named)) return succeed(named);
  const message = "The specified location-constraint is not valid";
  return refusal("InvalidLocationConstraint", message, { LocationConstraint: named });
}
