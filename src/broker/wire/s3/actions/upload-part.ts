// UploadPart: one part's bytes; a part of the same number is replaced.

import type { UploadDetail } from "../../../model/s3/object-detail.ts";
import { keepBlob } from "../keep-blob.ts";
import { headerOf, takeBody } from "../request-body.ts";
import { ask, type S3Action } from "../s3-call.ts";
import { denied, refusal } from "../s3-errors.ts";
import { readPartNumber, uploadIn } from "../upload-reference.ts";
import { emptyReply } from "../xml-output.ts";

export const uploadPart: S3Action = {
  name: "UploadPart",
  method: "PUT",
  at: "object",
  query: ["partNumber", "uploadId"],
  async run(call) {
    const number = readPartNumber(call);
    if (!number.ok) return denied(call, number.fault);
    const found = await ask(call, "findUpload", uploadIn(call));
    if (!found.ok) return denied(call, found.fault);
    const detail = JSON.parse(found.value.upload.detail) as UploadDetail;
    const { checksumAlgorithm, checksumChosen } = detail;
    const taken = await takeBody(call, () => checksumAlgorithm);
    if (!taken.ok) return denied(call, taken.fault);
    const { blob, md5, chosen, checksums } = taken.value;
    if (checksumChosen && chosen !== null && chosen !== checksumAlgorithm) {
      await blob.discard();
      const message =
        "Checksum Type mismatch occurred, expected checksum Type: " +
        `${checksumAlgorithm.toLowerCase()}, actual checksum Type: ${chosen.toLowerCase()}`;
      return denied(call, refusal("InvalidRequest", message).fault);
    }
    const kept = await keepBlob(call, blob, () =>
      ask(call, "putPart", {
        ...uploadIn(call),
        number: number.value,
        piece: { blob: blob.id, sizeBytes: blob.sizeBytes },
        etag: md5,
        checksum: checksums[checksumAlgorithm] ?? "",
      }),
    );
    if (!kept.ok) return denied(call, kept.fault);
    const told = chosen ?? checksumAlgorithm;
    const sum = [headerOf(told), checksums[told] ?? ""];
    const headers = ["ETag", `"${md5}"`, ...sum, "x-amz-server-side-encryption", "AES256"];
    return emptyReply(200, headers);
  },
};
