// CreateMultipartUpload: stores all properties of the object except its bytes.

import {
  type ChecksumAlgorithm,
  type ChecksumType,
  defaultChecksumType,
  hasFullObject,
  isChecksumAlgorithm,
} from "../../../../core/encoding/checksum.ts";
import { type Result, succeed } from "../../../../core/result.ts";
import type { UploadDetail } from "../../../model/s3/object-detail.ts";
import type { S3Fault } from "../../../model/s3/s3-fault.ts";
import { readProperties } from "../object-headers.ts";
import { ask, type S3Action, type S3Call } from "../s3-call.ts";
import { denied, invalidArgument, refusal } from "../s3-errors.ts";
import { textElement, xmlReply } from "../xml-output.ts";

export const createMultipartUpload: S3Action = {
  name: "CreateMultipartUpload",
  method: "POST",
  at: "object",
  query: ["uploads"],
  async run(call) {
    const properties = readProperties(call);
    if (!properties.ok) return denied(call, properties.fault);
    const chosen = readChecksum(call);
    if (!chosen.ok) return denied(call, chosen.fault);
    const choice = chosen.value;
    const { storageClass, headers, metadata, tags } = properties.value;
    const detail: UploadDetail = { headers, metadata, tags, checksum: null, ...choice };
    const { bucket, key } = call;
    const input = { bucket, key, storageClass, detail: JSON.stringify(detail) };
    const made = await ask(call, "createUpload", input);
    if (!made.ok) return denied(call, made.fault);
    const replyHeaders = ["x-amz-server-side-encryption", "AES256"];
    if (choice.checksumChosen) {
      replyHeaders.push("x-amz-checksum-algorithm", choice.checksumAlgorithm);
      replyHeaders.push("x-amz-checksum-type", choice.checksumType);
    }
    const content =
      textElement("Bucket", bucket) +
      textElement("Key", key) +
      textElement("UploadId", made.value.id);
    return xmlReply("InitiateMultipartUploadResult", content, replyHeaders);
  },
};

type ChecksumChoice = Pick<UploadDetail, "checksumAlgorithm" | "checksumType" | "checksumChosen">;

const DEFAULT_CHOICE: ChecksumChoice = {
  checksumAlgorithm: "CRC64NVME",
  checksumType: "FULL_OBJECT",
  checksumChosen: false,
};

function readChecksum(call: S3Call): Result<ChecksumChoice, S3Fault> {
  const { headers } = call.request;
  const named = headers["x-amz-checksum-algorithm"]?.toUpperCase();
  const type = headers["x-amz-checksum-type"]?.toUpperCase();
  if (type !== undefined && type !== "COMPOSITE" && type !== "FULL_OBJECT") {
    return invalidArgument(
      "x-amz-checksum-type",
      type,
      "Value for x-amz-checksum-type header is invalid.",
    );
  }
  if (named === undefined || !isChecksumAlgorithm(named)) {
    return type === undefined || type === "FULL_OBJECT"
      ? succeed(DEFAULT_CHOICE)
      : refusal(
          "InvalidRequest",
          "The x-amz-checksum-type header can only be used with the x-amz-checksum-algorithm header.",
        );
  }
  const chosen = type ?? defaultChecksumType(named);
  if (!fits(named, chosen)) {
    return refusal(
      "InvalidRequest",
      `The ${chosen} checksum type cannot be used with the ${named.toLowerCase()} checksum algorithm.`,
    );
  }
  return succeed({ checksumAlgorithm: named, checksumType: chosen, checksumChosen: true });
}

function fits(algorithm: ChecksumAlgorithm, type: ChecksumType): boolean {
  return type === "FULL_OBJECT" ? hasFullObject(algorithm) : algorithm !== "CRC64NVME";
}
