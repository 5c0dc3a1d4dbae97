// Copy source: the object to copy, and its bytes as a new blob.
//   S1. A copy has its own bytes. Shared bytes would require reference counting on deletion.
//   S2. Reading starts in the same turn in which the source was found. A blob that is being read is
//       not removed; one that was only looked up may be overwritten and removed.

import {
  type Checksum,
  type ChecksumAlgorithm,
  createChecksum,
} from "../../../core/encoding/checksum.ts";
import { createDigest } from "../../../core/encoding/hash.ts";
import { type Result, succeed } from "../../../core/result.ts";
import type { ByteRange, StagedBlob } from "../../../ports/broker/blob-store.ts";
import type { S3Fault } from "../../model/s3/s3-fault.ts";
import type { ObjectView } from "../../model/s3/s3-operations.ts";
import { checkReadConditions } from "./read-conditions.ts";
import { ask, type S3Call } from "./s3-call.ts";
import { invalidArgument } from "./s3-errors.ts";

export interface CopySource extends ObjectView {
  readonly bucket: string;
  readonly key: string;
}

export async function findCopySource(call: S3Call): Promise<Result<CopySource, S3Fault>> {
  const header = call.request.headers["x-amz-copy-source"] ?? "";
  const address = parseCopySource(header);
  if (address === null) {
    const message = "Copy Source must mention the source bucket and key: sourcebucket/sourcekey";
    return invalidArgument("x-amz-copy-source", header, message);
  }
  const lookup = await ask(call, "findObject", address);
  if (!lookup.ok) return lookup;
  const refused = checkReadConditions(
    call.request.headers,
    lookup.value.object,
    "x-amz-copy-source-",
  );
  if (refused !== null) return refused;
  return succeed({ ...lookup.value, bucket: address.bucket, key: address.key });
}

/** The object that a header names; null if it names none. */
export function parseCopySource(header: string) {
  const [path = "", query = ""] = splitOnce(header, "?versionId=");
  let decoded: string;
  try {
    decoded = decodeURIComponent(path).replace(/^\//, "");
  } catch {
    return null;
  }
  const [bucket = "", key = ""] = splitOnce(decoded, "/");
  if (bucket === "" || key === "") return null;
  return { bucket, key, version: query === "" ? null : query };
}

function splitOnce(text: string, at: string): [string, string] {
  const index = text.indexOf(at);
  return index === -1 ? [text, ""] : [text.slice(0, index), text.slice(index + at.length)];
}

export interface CopiedBytes {
  readonly blob: StagedBlob;
  readonly md5: string;
  readonly checksum: Checksum;
}

/** Reads the bytes once and writes them to a new blob (S1). Do not defer the call (S2). */
export async function copyBytes(
  call: S3Call,
  { object }: CopySource,
  range: ByteRange,
  algorithm: ChecksumAlgorithm,
): Promise<CopiedBytes> {
  const md5 = createDigest("md5");
  const sum = createChecksum(algorithm);
  const chunks = call.s3.blobs.read(object.pieces, range)[Symbol.asyncIterator]();
  async function* digestedChunks(): AsyncGenerator<Uint8Array> {
    for (let next = await chunks.next(); next.done !== true; next = await chunks.next()) {
      md5.update(next.value);
      sum.update(next.value);
      yield next.value;
    }
  }
  const blob = await call.s3.blobs.stage(digestedChunks()).finally(() => chunks.return?.());
  const value = Buffer.from(sum.digest()).toString("base64");
  return {
    blob,
    md5: Buffer.from(md5.digest()).toString("hex"),
    checksum: { algorithm, value, type: "FULL_OBJECT" },
  };
}
