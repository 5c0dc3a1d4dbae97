// UploadPartCopy: uploads a part with the bytes of another object, or a range of them.

import { type Result, succeed } from "../../../../core/result.ts";
import type { ByteRange } from "../../../../ports/broker/blob-store.ts";
import type { UploadDetail } from "../../../model/s3/object-detail.ts";
import type { S3Fault } from "../../../model/s3/s3-fault.ts";
import { copyBytes, findCopySource } from "../copy-source.ts";
import { keepBlob } from "../keep-blob.ts";
import { readRange } from "../read-conditions.ts";
import { ask, type S3Action } from "../s3-call.ts";
import { denied, invalidArgument } from "../s3-errors.ts";
import { readPartNumber, uploadIn } from "../upload-reference.ts";
import { instant, textElement, xmlReply } from "../xml-output.ts";

export const uploadPartCopy: S3Action = {
  name: "UploadPartCopy",
  method: "PUT",
  at: "object",
  query: ["partNumber", "uploadId"],
  header: "x-amz-copy-source",
  async run(call) {
    const number = readPartNumber(call);
    if (!number.ok) return denied(call, number.fault);
    const lookup = await ask(call, "findUpload", uploadIn(call));
    if (!lookup.ok) return denied(call, lookup.fault);
    const source = await findCopySource(call);
    if (!source.ok) return denied(call, source.fault);
    const { sizeBytes } = source.value.object;
    const range = sourceRange(call.request.headers["x-amz-copy-source-range"], sizeBytes);
    if (!range.ok) return denied(call, range.fault);
    const { checksumAlgorithm } = JSON.parse(lookup.value.upload.detail) as UploadDetail;
    const copy = await copyBytes(call, source.value, range.value, checksumAlgorithm);
    const stored = await keepBlob(call, copy.blob, () =>
      ask(call, "putPart", {
        ...uploadIn(call),
        number: number.value,
        piece: { blob: copy.blob.id, sizeBytes: copy.blob.sizeBytes },
        etag: copy.md5,
        checksum: copy.checksum.value,
      }),
    );
    if (!stored.ok) return denied(call, stored.fault);
    const headers = ["x-amz-server-side-encryption", "AES256"];
    const { version } = source.value;
    if (version !== null) headers.push("x-amz-copy-source-version-id", version);
    const content =
      instant("LastModified", call.s3.now()) +
      textElement("ETag", `"${copy.md5}"`) +
      textElement(`Checksum${checksumAlgorithm}`, copy.checksum.value);
    return xmlReply("CopyPartResult", content, headers);
  },
};

function sourceRange(header: string | undefined, sizeBytes: number): Result<ByteRange, S3Fault> {
  if (header === undefined) return succeed({ from: 0, through: sizeBytes - 1 });
  const range = /^bytes=\d+-\d+$/.test(header) ? readRange(header, sizeBytes) : null;
  if (range !== null && (!range.ok || range.value.through === Number(header.split("-")[1]))) {
    return range;
  }
  return invalidArgument(
    "x-amz-copy-source-range",
    header,
    range === null
      ? "The x-amz-copy-source-range value must be of the form bytes=first-last where first and last are the zero-based offsets of the first and last bytes to copy"
      : `Range specified is not valid for source object of size: ${sizeBytes}`,
  );
}
