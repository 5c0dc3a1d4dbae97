// ListBuckets: returns all buckets, or a page of them.

import { decodeToken, encodeToken, readLimit } from "../list-parameters.ts";
import { ownerElement } from "../owner.ts";
import { ask, type S3Action } from "../s3-call.ts";
import { denied, invalidArgument } from "../s3-errors.ts";
import { element, instant, optionalText, textElement, xmlReply } from "../xml-output.ts";

const BUCKETS_MAX = 10_000;

export const listBuckets: S3Action = {
  name: "ListBuckets",
  method: "GET",
  at: "service",
  async run(call) {
    const limit = readLimit(call, "max-buckets", BUCKETS_MAX);
    if (!limit.ok) return denied(call, limit.fault);
    const token = call.query.get("continuation-token");
    const after = token === null ? "" : decodeToken(token);
    if (after === null) {
      const message = "The continuation token provided is incorrect";
      return denied(call, invalidArgument("continuation-token", token ?? "", message).fault);
    }
    const prefix = call.query.get("prefix") ?? "";
    const region = call.query.get("bucket-region");
    const input = { prefix, after, limit: limit.value, region };
    const listing = await ask(call, "listBuckets", input);
    if (!listing.ok) return denied(call, listing.fault);
    const { buckets, next } = listing.value;
    const written = buckets.map((bucket) =>
      element(
        "Bucket",
        textElement("Name", bucket.name),
        instant("CreationDate", bucket.createdAt),
        textElement("BucketRegion", bucket.region),
      ),
    );
    const content =
      ownerElement(call) +
      element("Buckets", ...written) +
      optionalText("ContinuationToken", next === null ? null : encodeToken(next)) +
      (prefix === "" ? "" : textElement("Prefix", prefix));
    return xmlReply("ListAllMyBucketsResult", content);
  },
};
