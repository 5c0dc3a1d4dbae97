// S3 addresses: the bucket from the host or the path, the key from the rest of the path.
//   A1. A key is the path after one decoding, byte for byte: dots are not resolved and slashes are
//       not collapsed. A key names a row in a table and never a file, so path traversal is not
//       possible.

import { utf8ByteLength } from "../../../core/encoding/text.ts";
import { S3_KEY_BYTES_MAX } from "../../../core/limits.ts";
import { type Result, succeed } from "../../../core/result.ts";
import type { HttpRequest } from "../../../ports/http/http.ts";
import type { S3Fault, S3Refusal } from "../../model/s3/s3-fault.ts";
import { refusal } from "./s3-errors.ts";

export interface S3Address {
  readonly bucket: string;
  readonly key: string;
}

export function readAddress(
  request: HttpRequest,
  baseHost: string | null,
): Result<S3Address, S3Fault> {
  const fromHost = bucketOfHost(request.headers.host ?? "", baseHost);
  const path = request.path.slice(1);
  const slash = fromHost === null ? path.indexOf("/") : -1;
  const [rawBucket, rawKey] =
    fromHost !== null
      ? [fromHost, path]
      : slash === -1
        ? [path, ""]
        : [path.slice(0, slash), path.slice(slash + 1)];
  const bucket = decode(rawBucket);
  const key = decode(rawKey);
  if (bucket === null || key === null) {
    return refusal("InvalidURI", "Couldn't parse the specified URI.");
  }
  if (bucket === "" && key !== "") {
    return refusal("InvalidBucketName", "The specified bucket is not valid.", { BucketName: "" });
  }
  return checkKeyLength(key) ?? succeed({ bucket, key });
}

export function checkKeyLength(key: string): S3Refusal | null {
  const sizeBytes = utf8ByteLength(key);
  if (sizeBytes <= S3_KEY_BYTES_MAX) return null;
  return refusal("KeyTooLongError", "Your key is too long", {
    Size: String(sizeBytes),
    MaxSizeAllowed: String(S3_KEY_BYTES_MAX),
  });
}

/**
 * The bucket of bucket.s3.region.amazonaws.com, bucket.s3.localhost, bucket.localhost or
 * bucket.BASE; null for other hosts.
 */
export function bucketOfHost(host: string, baseHost: string | null = null): string | null {
  const name = host.replace(/:\d+$/, "").toLowerCase();
  if (baseHost !== null && name === baseHost) return null;
  if (baseHost !== null && name.endsWith(`.${baseHost}`)) {
    const below = name.slice(0, -baseHost.length - 1).replace(/\.?s3$/, "");
    return below === "" ? null : below;
  }
  const hosted = /^(.+?)\.s3(?:[.-][a-z0-9.-]+)?$/.exec(name)?.[1];
  if (hosted !== undefined) return hosted;
  const local = /^(.+)\.localhost$/.exec(name)?.[1];
  return local === undefined || /^s3([.-]|$)/.test(local) ? null : local;
}

function decode(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}
