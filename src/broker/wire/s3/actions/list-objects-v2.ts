// ListObjectsV2: lists objects, paged by opaque tokens.

import { decodeToken, encodeToken } from "../list-parameters.ts";
import { readListParameters, writeEntry, writeListHead, writePrefixes } from "../object-list.ts";
import { ownerElement } from "../owner.ts";
import { ask, type S3Action } from "../s3-call.ts";
import { denied, invalidArgument } from "../s3-errors.ts";
import { element, optionalText, textElement, xmlReply } from "../xml-output.ts";

export const listObjectsV2: S3Action = {
  name: "ListObjectsV2",
  method: "GET",
  at: "bucket",
  query: ["list-type"],
  async run(call) {
    const parameters = readListParameters(call);
    if (!parameters.ok) return denied(call, parameters.fault);
    const { input, encode } = parameters.value;
    const token = call.query.get("continuation-token");
    const startAfter = call.query.get("start-after");
    const after = token === null ? (startAfter ?? "") : decodeToken(token);
    if (after === null) {
      const message = "The continuation token provided is incorrect";
      return denied(call, invalidArgument("continuation-token", token ?? "", message).fault);
    }
    const listing = await ask(call, "listObjects", { ...input, after });
    if (!listing.ok) return denied(call, listing.fault);
    const { entries, prefixes, next } = listing.value;
    const owner = call.query.get("fetch-owner") === "true" ? ownerElement(call) : "";
    const contents = entries.map((entry) => element("Contents", writeEntry(entry, encode), owner));
    // An empty page has no last item to continue from, so it reports that it is the last.
    const truncated = next !== null && input.limit > 0;
    const content =
      writeListHead(call, parameters.value) +
      optionalText("StartAfter", startAfter === null ? null : encode(startAfter)) +
      optionalText("ContinuationToken", token) +
      (truncated ? textElement("NextContinuationToken", encodeToken(next)) : "") +
      textElement("KeyCount", entries.length + prefixes.length) +
      textElement("MaxKeys", input.limit) +
      textElement("IsTruncated", truncated) +
      contents.join("") +
      writePrefixes(prefixes, encode);
    return xmlReply("ListBucketResult", content);
  },
};
