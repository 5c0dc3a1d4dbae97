// PutObject: stores the bytes, their properties and the event atomically.

import type { HttpReply } from "../../../../ports/http/http.ts";
import type { ObjectDetail } from "../../../model/s3/object-detail.ts";
import { keepBlob } from "../keep-blob.ts";
import { readProperties, writtenHeaders } from "../object-headers.ts";
import { readWriteConditions } from "../read-conditions.ts";
import { receiveBody } from "../request-body.ts";
import { ask, type S3Action, type S3Call } from "../s3-call.ts";
import { denied } from "../s3-errors.ts";
import { emptyReply } from "../xml-output.ts";

/** For larger bodies, the bucket is looked up before the body is read. */
const UNCHECKED_BYTES_MAX = 1_024 ** 2;

export const putObject: S3Action = {
  name: "PutObject",
  method: "PUT",
  at: "object",
  async run(call) {
    const properties = readProperties(call);
    if (!properties.ok) return denied(call, properties.fault);
    const conditions = readWriteConditions(call);
    if (!conditions.ok) return denied(call, conditions.fault);
    const early = await checkEarly(call);
    if (early !== null) return early;
    const received = await receiveBody(call, (chosen) => chosen ?? "CRC64NVME");
    if (!received.ok) return denied(call, received.fault);

    const { blob, md5, chosen, checksums } = received.value;
    const algorithm = chosen ?? "CRC64NVME";
    const value = checksums[algorithm] ?? "";
    const checksum = { algorithm, value, type: "FULL_OBJECT" } as const;
    const { headers, metadata, tags, storageClass } = properties.value;
    const detail: ObjectDetail = { headers, metadata, tags, checksum };
    const written = await keepBlob(call, blob, () =>
      ask(call, "putObject", {
        bucket: call.bucket,
        key: call.key,
        event: "Put",
        pieces: [{ blob: blob.id, sizeBytes: blob.sizeBytes }],
        etag: md5,
        storageClass,
        detail: JSON.stringify(detail),
        conditions: conditions.value,
        origin: call.origin,
      }),
    );
    if (!written.ok) return denied(call, written.fault);
    return emptyReply(200, writtenHeaders(md5, written.value.version, checksum));
  },
};

async function checkEarly(call: S3Call): Promise<HttpReply | null> {
  if (Number(call.request.headers["content-length"] ?? 0) <= UNCHECKED_BYTES_MAX) return null;
  const lookup = await ask(call, "findBucket", { bucket: call.bucket });
  return lookup.ok ? null : denied(call, lookup.fault);
}
