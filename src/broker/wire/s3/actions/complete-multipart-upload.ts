// CompleteMultipartUpload: turns the parts into one object and emits its event.

import {
  CHECKSUM_ALGORITHMS,
  type ChecksumType,
  isChecksumAlgorithm,
} from "../../../../core/encoding/checksum.ts";
import { type Result, succeed } from "../../../../core/result.ts";
import type { S3Fault } from "../../../model/s3/s3-fault.ts";
import type { ClaimedChecksum, CompletePart } from "../../../model/s3/s3-operations.ts";
import { withHeaders } from "../parameters/query-headers.ts";
import { bareEtag, readWriteConditions } from "../read-conditions.ts";
import { headerOf, malformedXml, readDocument, severalChecksums } from "../request-body.ts";
import { ask, type S3Action, type S3Call } from "../s3-call.ts";
import { denied, notImplemented } from "../s3-errors.ts";
import { uploadIn } from "../upload-reference.ts";
import { childrenOf, childText, parseXml } from "../xml-input.ts";
import { textElement, xmlReply } from "../xml-output.ts";

export const completeMultipartUpload: S3Action = {
  name: "CompleteMultipartUpload",
  method: "POST",
  at: "object",
  query: ["uploadId"],
  async run(call) {
    const conditions = readWriteConditions(call);
    if (!conditions.ok) return denied(call, conditions.fault);
    const body = await readObjectDocument(call);
    if (!body.ok) return denied(call, body.fault);
    const parts = parseParts(body.value);
    if (!parts.ok) return denied(call, parts.fault);
    const checksum = claimedChecksum(call);
    if (!checksum.ok) return denied(call, checksum.fault);
    const size = call.request.headers["x-amz-mp-object-size"];
    const type = call.request.headers["x-amz-checksum-type"];
    const made = await ask(call, "completeUpload", {
      ...uploadIn(call),
      parts: parts.value,
      checksum: checksum.value,
      checksumType: type === undefined ? null : (type.toUpperCase() as ChecksumType),
      sizeBytes: size === undefined ? null : Number(size),
      conditions: conditions.value,
      origin: call.origin,
    });
    if (!made.ok) return denied(call, made.fault);
    call.s3.blobs.remove(made.value.dropped);
    const { etag, checksum: stored, version } = made.value;
    const { bucket, key, request } = call;
    const host = request.headers.host || call.server.hostFallback;
    const content =
      textElement("Location", `http://${host}/${bucket}/${encodeURIComponent(key)}`) +
      textElement("Bucket", bucket) +
      textElement("Key", key) +
      textElement("ETag", `"${etag}"`) +
      (stored === null
        ? ""
        : textElement(`Checksum${stored.algorithm}`, stored.value) +
          textElement("ChecksumType", stored.type));
    const headers = ["x-amz-server-side-encryption", "AES256"];
    if (version !== null) headers.push("x-amz-version-id", version);
    return xmlReply("CompleteMultipartUploadResult", content, headers);
  },
};

/** Reads the document without the checksum headers, which describe the object. */
function readObjectDocument(call: S3Call) {
  const headers = { ...call.request.headers };
  for (const name of CHECKSUM_ALGORITHMS) delete headers[headerOf(name)];
  delete headers["x-amz-sdk-checksum-algorithm"];
  return readDocument({ ...call, request: withHeaders(call.request, headers) });
}

function claimedChecksum(call: S3Call): Result<ClaimedChecksum | null, S3Fault> {
  const claims: ClaimedChecksum[] = [];
  for (const algorithm of CHECKSUM_ALGORITHMS) {
    const value = call.request.headers[headerOf(algorithm)];
    if (value !== undefined) claims.push({ algorithm, value });
  }
  return claims.length > 1 ? severalChecksums() : succeed(claims[0] ?? null);
}

function parseParts(body: string): Result<CompletePart[], S3Fault> {
  const root = parseXml(body, "CompleteMultipartUpload");
  if (root === null) return malformedXml();
  const parts: CompletePart[] = [];
  for (const part of childrenOf(root, "Part")) {
    const number = childText(part, "PartNumber") ?? "";
    const etag = childText(part, "ETag");
    if (!/^\d{1,5}$/.test(number) || etag === null) return malformedXml();
    const checksums: ClaimedChecksum[] = [];
    for (const [name, [node]] of part.children) {
      const algorithm = /^Checksum(.+)$/.exec(name)?.[1];
      if (algorithm === undefined || node === undefined) continue;
      if (!isChecksumAlgorithm(algorithm)) return notImplemented(name);
      checksums.push({ algorithm, value: node.text });
    }
    parts.push({ number: Number(number), etag: bareEtag(etag), checksums });
  }
  return parts.length === 0 ? malformedXml() : succeed(parts);
}
