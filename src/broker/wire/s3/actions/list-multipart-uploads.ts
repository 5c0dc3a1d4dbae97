// ListMultipartUploads: uploads under way, by key.

import type { StoredUpload } from "../../../../core/object-change.ts";
import { readListParameters, writePrefixes } from "../object-list.ts";
import { ownerElement } from "../owner.ts";
import { ask, type S3Action } from "../s3-call.ts";
import { denied } from "../s3-errors.ts";
import { element, instant, text, xmlReply } from "../xml-output.ts";

export const listMultipartUploads: S3Action = {
  name: "ListMultipartUploads",
  method: "GET",
  at: "bucket",
  query: ["uploads"],
  async run(call) {
    const parameters = readListParameters(call, "max-uploads");
    if ("ok" in parameters) return denied(call, parameters.fault);
    const { input, encode } = parameters;
    const after = call.query.get("key-marker") ?? "";
    const afterUpload = call.query.get("upload-id-marker") ?? "";
    const found = await ask(call, "listUploads", { ...input, after, afterUpload });
    if (!found.ok) return denied(call, found.fault);
    const { entries, prefixes, next, nextUpload } = found.value;
    const who = ownerElement(call, "Initiator") + ownerElement(call);
    const encoding = call.query.get("encoding-type");
    const content =
      text("Bucket", call.bucket) +
      text("KeyMarker", encode(after)) +
      text("UploadIdMarker", afterUpload) +
      text("NextKeyMarker", next === null ? "" : encode(next)) +
      text("NextUploadIdMarker", nextUpload ?? "") +
      (input.delimiter === "" ? "" : text("Delimiter", encode(input.delimiter))) +
      text("Prefix", encode(input.prefix)) +
      (encoding === null ? "" : text("EncodingType", encoding)) +
      text("MaxUploads", input.limit) +
      text("IsTruncated", next !== null) +
      entries.map((upload) => writeUpload(upload, encode, who)).join("") +
      writePrefixes(prefixes, encode);
    return xmlReply("ListMultipartUploadsResult", content);
  },
};

function writeUpload(upload: StoredUpload, encode: (name: string) => string, who: string): string {
  return element(
    "Upload",
    text("Key", encode(upload.key)),
    text("UploadId", upload.id),
    who,
    text("StorageClass", upload.storageClass),
    instant("Initiated", upload.startedAt),
  );
}
