// ListParts: returns the parts that have been uploaded so far.

import { S3_LIST_KEYS_MAX } from "../../../../core/limits.ts";
import type { UploadDetail } from "../../../model/s3/object-detail.ts";
import { readLimit } from "../list-parameters.ts";
import { ownerElement } from "../owner.ts";
import { ask, type S3Action } from "../s3-call.ts";
import { denied, invalidArgument } from "../s3-errors.ts";
import { uploadIn } from "../upload-reference.ts";
import { element, instant, textElement, xmlReply } from "../xml-output.ts";

export const listParts: S3Action = {
  name: "ListParts",
  method: "GET",
  at: "object",
  query: ["uploadId"],
  async run(call) {
    const limit = readLimit(call, "max-parts", S3_LIST_KEYS_MAX);
    if (!limit.ok) return denied(call, limit.fault);
    const marker = call.query.get("part-number-marker") ?? "0";
    if (!/^\d{1,9}$/.test(marker)) {
      const message = "Argument part-number-marker must be an integer between 0 and 2147483647";
      return denied(call, invalidArgument("part-number-marker", marker, message).fault);
    }
    const reference = uploadIn(call);
    const listing = await ask(call, "listParts", {
      ...reference,
      after: Number(marker),
      limit: limit.value,
    });
    if (!listing.ok) return denied(call, listing.fault);
    const { parts, next, upload } = listing.value;
    const detail = JSON.parse(upload.detail) as UploadDetail;
    const { checksumAlgorithm: algorithm, checksumChosen } = detail;
    const written = parts.map((part) =>
      element(
        "Part",
        textElement("PartNumber", part.number),
        instant("LastModified", part.modifiedAt),
        textElement("ETag", `"${part.etag}"`),
        textElement("Size", part.sizeBytes),
        checksumChosen ? textElement(`Checksum${algorithm}`, part.checksum) : "",
      ),
    );
    const content =
      textElement("Bucket", call.bucket) +
      textElement("Key", call.key) +
      textElement("UploadId", reference.upload) +
      ownerElement(call, "Initiator") +
      ownerElement(call) +
      textElement("StorageClass", upload.storageClass) +
      textElement("PartNumberMarker", marker) +
      textElement("NextPartNumberMarker", parts.at(-1)?.number ?? 0) +
      textElement("MaxParts", limit.value) +
      textElement("IsTruncated", next !== null) +
      (checksumChosen
        ? textElement("ChecksumAlgorithm", algorithm) +
          textElement("ChecksumType", detail.checksumType)
        : "") +
      written.join("");
    return xmlReply("ListPartsResult", content);
  },
};
