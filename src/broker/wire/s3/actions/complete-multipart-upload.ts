// CompleteMultipartUpload: turns the parts into one object and emits its event.

import { CHECKSUM_ALGORITHMS } from "../../../../core/encoding/checksum.ts";
import type { CompletePart } from "../../../model/s3/s3-operations.ts";
import { bareEtag, readWriteConditions } from "../read-conditions.ts";
import { headerOf, malformedXml, readDocument } from "../request-body.ts";
import { ask, type S3Action, type S3Call } from "../s3-call.ts";
import { denied } from "../s3-errors.ts";
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
    if (parts === null) return denied(call, malformedXml().fault);
    const size = call.request.headers["x-amz-mp-object-size"];
    const made = await ask(call, "completeUpload", {
      ...uploadIn(call),
      parts,
      checksum: claimedChecksum(call),
      sizeBytes: size === undefined ? null : Number(size),
      conditions: conditions.value,
      origin: call.origin,
    });
    if (!made.ok) return denied(call, made.fault);
    call.s3.blobs.remove(made.value.dropped);
    const { etag, checksum, version } = made.value;
    const { bucket, key, request } = call;
    const host = request.headers.host || call.server.hostFallback;
    const content =
      textElement("Location", `http://${host}/${bucket}/${encodeURIComponent(key)}`) +
      textElement("Bucket", bucket) +
      textElement("Key", key) +
      textElement("ETag", `"${etag}"`) +
      (checksum === null
        ? ""
        : textElement(`Checksum${checksum.algorithm}`, checksum.value) +
          textElement("ChecksumType", checksum.type));
    const headers = ["x-amz-server-side-encryption", "AES256"];
    if (version !== null) headers.push("x-amz-version-id", version);
    return xmlReply("CompleteMultipartUploadResult", content, headers);
  },
};

/** Reads the document without the checksum headers, which describe the object. */
function readObjectDocument(call: S3Call) {
  const headers = { ...call.request.headers };
  for (const name of CHECKSUM_ALGORITHMS) delete headers[headerOf(name)];
  const request = Object.create(call.request, { headers: { value: headers } });
  return readDocument({ ...call, request });
}

function claimedChecksum(call: S3Call): string | null {
  for (const name of CHECKSUM_ALGORITHMS) {
    const value = call.request.headers[headerOf(name)];
    if (value !== undefined) return value;
  }
  return null;
}

function parseParts(body: string): CompletePart[] | null {
  const root = parseXml(body, "CompleteMultipartUpload");
  if (root === null) return null;
  const parts: CompletePart[] = [];
  for (const part of childrenOf(root, "Part")) {
    const number = childText(part, "PartNumber") ?? "";
    const etag = childText(part, "ETag");
    if (!/^\d{1,5}$/.test(number) || etag === null) return null;
    const sums = CHECKSUM_ALGORITHMS.map((name) => childText(part, `Checksum${name}`));
    const checksum = sums.find((sum) => sum !== null) ?? null;
    parts.push({ number: Number(number), etag: bareEtag(etag), checksum });
  }
  return parts.length === 0 ? null : parts;
}
