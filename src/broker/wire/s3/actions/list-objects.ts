// ListObjects: lists objects, paged by keys; the first version of the action.

import { readListParameters, writeEntry, writeListHead, writePrefixes } from "../object-list.ts";
import { ownerElement } from "../owner.ts";
import { ask, type S3Action } from "../s3-call.ts";
import { denied } from "../s3-errors.ts";
import { element, textElement, xmlReply } from "../xml-output.ts";

export const listObjects: S3Action = {
  name: "ListObjects",
  method: "GET",
  at: "bucket",
  async run(call) {
    const parameters = readListParameters(call);
    if (!parameters.ok) return denied(call, parameters.fault);
    const { input, encode } = parameters.value;
    const after = call.query.get("marker") ?? "";
    const listing = await ask(call, "listObjects", { ...input, after });
    if (!listing.ok) return denied(call, listing.fault);
    const { entries, prefixes, next } = listing.value;
    const owner = ownerElement(call);
    const contents = entries.map((entry) => element("Contents", writeEntry(entry, encode), owner));
    const truncated = next !== null && input.limit > 0;
    // Without a delimiter the last key is the next marker, and S3 does not return one.
    const nextMarker =
      truncated && input.delimiter !== "" ? textElement("NextMarker", encode(next)) : "";
    const content =
      writeListHead(call, parameters.value) +
      textElement("Marker", encode(after)) +
      nextMarker +
      textElement("MaxKeys", input.limit) +
      textElement("IsTruncated", truncated) +
      contents.join("") +
      writePrefixes(prefixes, encode);
    return xmlReply("ListBucketResult", content);
  },
};
