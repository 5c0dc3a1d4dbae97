// UploadPart: stores the bytes of one part and replaces a part with the same number.

import type { UploadDetail } from "../../../model/s3/object-detail.ts";
import { keepBlob } from "../keep-blob.ts";
import { headerOf, receiveBody } from "../request-body.ts";
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
    const lookup = await ask(call, "findUpload", uploadIn(call));
    if (!lookup.ok) return denied(call, lookup.fault);
    const detail = JSON.parse(lookup.value.upload.detail) as UploadDetail;
    const { checksumAlgorithm, checksumChosen } = detail;
    const received = await receiveBody(call, () => checksumAlgorithm);
    if (!received.ok) return denied(call, received.fault);
    const { blob, md5, chosen, checksums } = received.value;
    if (checksumChosen && chosen !== null && chosen !== checksumAlgorithm) {
      await blob.discard();
      const message =
        "Checksum Type mismatch occurred, expected checksum Type: " +
        `${checksumAlgorithm.toLowerCase()}, actual checksum Type: ${chosen.toLowerCase()}`;
      return denied(call, refusal("InvalidRequest", message).fault);
    }
    const stored = await keepBlob(call, blob, () =>
      ask(call, "putPart", {
        ...uploadIn(call),
        number: number.value,
        piece: { blob: blob.id, sizeBytes: blob.sizeBytes },
        etag: md5,
        checksum: checksums[checksumAlgorithm] ?? "",
      }),
    );
    if (!stored.ok) return denied(call, stored.fault);
    const reported = chosen ?? checksumAlgorithm;
    const sum = [headerOf(reported), checksums[reported] ?? ""];
    const headers = ["ETag", `"${md5}"`, ...sum, "x-amz-server-side-encryption", "AES256"];
    return emptyReply(200, headers);
  },
};
