// CopyObject: creates an object with the bytes of another; its properties are copied or replaced.

import { isChecksumAlgorithm } from "../../../../core/encoding/checksum.ts";
import { type Result, succeed } from "../../../../core/result.ts";
import type { ObjectDetail } from "../../../model/s3/object-detail.ts";
import type { S3Fault } from "../../../model/s3/s3-fault.ts";
import { type CopySource, copyBytes, findCopySource } from "../copy-source.ts";
import { keepBlob } from "../keep-blob.ts";
import { readProperties, type SentProperties } from "../object-headers.ts";
import { readWriteConditions } from "../read-conditions.ts";
import { ask, type S3Action, type S3Call } from "../s3-call.ts";
import { denied, invalidArgument, refusal } from "../s3-errors.ts";
import { instant, textElement, xmlReply } from "../xml-output.ts";

export const copyObject: S3Action = {
  name: "CopyObject",
  method: "PUT",
  at: "object",
  header: "x-amz-copy-source",
  async run(call) {
    const sent = readProperties(call);
    if (!sent.ok) return denied(call, sent.fault);
    const conditions = readWriteConditions(call);
    if (!conditions.ok) return denied(call, conditions.fault);
    const target = await ask(call, "findBucket", { bucket: call.bucket });
    if (!target.ok) return denied(call, target.fault);
    const source = await findCopySource(call);
    if (!source.ok) return denied(call, source.fault);
    const copied = copiedDetail(call, source.value, sent.value);
    if (!copied.ok) return denied(call, copied.fault);
    const detail = copied.value;

    const { object } = source.value;
    const range = { from: 0, through: object.sizeBytes - 1 };
    const requested = (call.request.headers["x-amz-checksum-algorithm"] ?? "").toUpperCase();
    const inherited = detail.checksum?.algorithm ?? "CRC64NVME";
    const algorithm = isChecksumAlgorithm(requested) ? requested : inherited;
    const copy = await copyBytes(call, source.value, range, algorithm);
    const storageClass = call.request.headers["x-amz-storage-class"] ?? "STANDARD";
    const written = await keepBlob(call, copy.blob, () =>
      ask(call, "putObject", {
        bucket: call.bucket,
        key: call.key,
        event: "Copy",
        pieces: [{ blob: copy.blob.id, sizeBytes: copy.blob.sizeBytes }],
        etag: copy.md5,
        storageClass,
        detail: JSON.stringify({ ...detail, checksum: copy.checksum }),
        conditions: conditions.value,
        origin: call.origin,
      }),
    );
    if (!written.ok) return denied(call, written.fault);
    const { version, modifiedAt } = written.value;
    const headers = ["x-amz-server-side-encryption", "AES256"];
    if (version !== null) headers.push("x-amz-version-id", version);
    if (source.value.version !== null) {
      headers.push("x-amz-copy-source-version-id", source.value.version);
    }
    const { checksum } = copy;
    const content =
      instant("LastModified", modifiedAt) +
      textElement("ETag", `"${copy.md5}"`) +
      textElement("ChecksumType", checksum.type) +
      textElement(`Checksum${checksum.algorithm}`, checksum.value);
    return xmlReply("CopyObjectResult", content, headers);
  },
};

/** Never copied, whatever the directive: a copy has the redirect of its own request, or none. */
const REDIRECT = "x-amz-website-redirect-location";
/** Headers that let an object be copied onto itself. */
const CHANGES = ["x-amz-storage-class", "x-amz-server-side-encryption", REDIRECT];

function copiedDetail(
  call: S3Call,
  source: CopySource,
  sent: SentProperties,
): Result<ObjectDetail, S3Fault> {
  const old = JSON.parse(source.object.detail) as ObjectDetail;
  const metadata = readDirective(call, "x-amz-metadata-directive", "metadata");
  const tagging = readDirective(call, "x-amz-tagging-directive", "tagging");
  if (!metadata.ok) return metadata;
  if (!tagging.ok) return tagging;
  const same = source.bucket === call.bucket && source.key === call.key;
  const changes = CHANGES.some((name) => call.request.headers[name] !== undefined);
  const renewed = metadata.value === "REPLACE" || changes;
  if (same && source.version === null && !renewed) {
    return refusal(
      "InvalidRequest",
      "This copy request is illegal because it is trying to copy an object to itself without " +
        "changing the object's metadata, storage class, website redirect location or encryption " +
        "attributes.",
    );
  }
  const { headers, metadata: named } = metadata.value === "REPLACE" ? sent : old;
  const { [REDIRECT]: _source, ...others } = headers;
  const redirect = sent.headers[REDIRECT];
  return succeed({
    headers: redirect === undefined ? others : { ...others, [REDIRECT]: redirect },
    metadata: named,
    tags: tagging.value === "REPLACE" ? sent.tags : old.tags,
    checksum: old.checksum,
  });
}

function readDirective(call: S3Call, header: string, what: string): Result<string, S3Fault> {
  const directive = call.request.headers[header] ?? "COPY";
  if (directive === "COPY" || directive === "REPLACE") return succeed(directive);
  return invalidArgument(header, directive, `Unknown ${what} directive.`);
}
