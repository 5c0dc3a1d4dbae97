// ListMultipartUploads: returns the uploads in progress, ordered by key.

import type { StoredUpload } from "../../../../ports/broker/object-change.ts";
import { readListParameters, writePrefixes } from "../object-list.ts";
import { ownerElement } from "../owner.ts";
import { ask, type S3Action } from "../s3-call.ts";
import { denied } from "../s3-errors.ts";
import { element, instant, textElement, xmlReply } from "../xml-output.ts";

export const listMultipartUploads: S3Action = {
  name: "ListMultipartUploads",
  method: "GET",
  at: "bucket",
  query: ["uploads"],
  async run(call) {
    const parameters = readListParameters(call, "max-uploads");
    if (!parameters.ok) return denied(call, parameters.fault);
    const { input, encode } = parameters.value;
    const after = call.query.get("key-marker") ?? "";
    const afterUpload = call.query.get("upload-id-marker") ?? "";
    const listing = await ask(call, "listUploads", { ...input, after, afterUpload });
    if (!listing.ok) return denied(call, listing.fault);
    const { entries, prefixes, next, nextUpload } = listing.value;
    const owners = ownerElement(call, "Initiator") + ownerElement(call);
    const encoding = call.query.get("encoding-type");
    const content =
      textElement("Bucket", call.bucket) +
      textElement("KeyMarker", encode(after)) +
      textElement("UploadIdMarker", afterUpload) +
      textElement("NextKeyMarker", next === null ? "" : encode(next)) +
      textElement("NextUploadIdMarker", nextUpload ?? "") +
      (input.delimiter === "" ? "" : textElement("Delimiter", encode(input.delimiter))) +
      textElement("Prefix", encode(input.prefix)) +
      (encoding === null ? "" : textElement("EncodingType", encoding)) +
      textElement("MaxUploads", input.limit) +
      textElement("IsTruncated", next !== null) +
      entries.map((upload) => writeUpload(upload, encode, owners)).join("") +
      writePrefixes(prefixes, encode);
    return xmlReply("ListMultipartUploadsResult", content);
  },
};

function writeUpload(
  upload: StoredUpload,
  encode: (name: string) => string,
  owners: string,
): string {
  return element(
    "Upload",
    textElement("Key", encode(upload.key)),
    textElement("UploadId", upload.id),
    owners,
    textElement("StorageClass", upload.storageClass),
    instant("Initiated", upload.startedAt),
  );
}
