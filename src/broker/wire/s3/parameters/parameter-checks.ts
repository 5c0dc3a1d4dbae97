// Parameter checks: which values of a header an action may see. A refusal is S3's own where S3
// refuses the value too, otherwise NotImplemented.

import { isChecksumAlgorithm } from "../../../../core/encoding/checksum.ts";
import type { S3Refusal } from "../../../model/s3/s3-fault.ts";
import { invalidArgument, notImplemented, refusal } from "../s3-errors.ts";
import type { ParameterCheck } from "./parameter-row.ts";

/** Algorithms that S3 has and Tidegate cannot compute. */
const UNSUPPORTED_ALGORITHMS = new Set(["XXHASH3", "XXHASH64", "XXHASH128"]);

export const unsupported: ParameterCheck = (_value, _call, name) => notImplemented(name);

/** Refuses all values but some. */
export function only(...accepted: readonly string[]): ParameterCheck {
  return (value, _call, name) =>
    accepted.includes(value.toLowerCase()) ? null : notImplemented(name);
}

/** Refuses values that S3 does not know either. */
export function onlyKnown(message: string, ...values: readonly string[]): ParameterCheck {
  return (value, _call, name) =>
    values.includes(value) ? null : invalidArgument(name, value, message);
}

/** The broker's account owns every bucket. */
export const checkBucketOwner: ParameterCheck = (value, call) => {
  if (!/^\d{12}$/.test(value)) {
    return refusal(
      "InvalidBucketOwnerAWSAccountID",
      "The value of the expected bucket owner parameter must be an AWS Account ID... " +
        `[${value}]`,
    );
  }
  return value === call.server.broker.account ? null : refusal("AccessDenied", "Access Denied");
};

/** No bucket has Object Lock. */
export const refuseLock: ParameterCheck = () =>
  refusal("InvalidRequest", "Bucket is missing Object Lock Configuration");

export const refuseBypass: ParameterCheck = (value, _call, name) =>
  invalidArgument(name, value, `${name} is only applicable to Object Lock enabled buckets.`);

export const checkAlgorithm: ParameterCheck = (value, _call, name) => {
  const algorithm = value.toUpperCase();
  if (isChecksumAlgorithm(algorithm)) return null;
  if (UNSUPPORTED_ALGORITHMS.has(algorithm)) return notImplemented(name);
  return refusal(
    "InvalidRequest",
    "Checksum algorithm provided is unsupported. Please try again with any of the valid types: " +
      "[CRC32, CRC32C, CRC64NVME, MD5, SHA1, SHA256, SHA512]",
  );
};

/** The algorithm of a header such as x-amz-checksum-crc32; null for all other headers. */
function algorithmOf(header: string): string | null {
  const algorithm = /^x-amz-checksum-(?!algorithm$|mode$|type$)(.+)$/.exec(header)?.[1];
  return algorithm?.toUpperCase() ?? null;
}

export function isChecksumHeader(name: string): boolean {
  return algorithmOf(name) !== null;
}

/** The refusal of a checksum header whose value cannot be verified, or null. */
export function checkChecksumHeader(name: string): S3Refusal | null {
  const algorithm = algorithmOf(name);
  if (algorithm === null || isChecksumAlgorithm(algorithm)) return null;
  if (UNSUPPORTED_ALGORITHMS.has(algorithm)) return notImplemented(name);
  return refusal(
    "InvalidRequest",
    "The algorithm type you specified in x-amz-checksum- header is invalid.",
  );
}

/** Every trailer must be a checksum: others would be read and ignored. */
export const checkTrailer: ParameterCheck = (value) => {
  for (const name of value.split(",").map((each) => each.trim().toLowerCase())) {
    if (name === "") continue;
    if (!isChecksumHeader(name)) {
      const message = "The value specified in the x-amz-trailer header is not supported";
      return refusal("InvalidRequest", message);
    }
    const refused = checkChecksumHeader(name);
    if (refused !== null) return refused;
  }
  return null;
};

export const checkRedirect: ParameterCheck = (value) =>
  /^(\/|https?:\/\/)/.test(value)
    ? null
    : refusal(
        "InvalidRedirectLocation",
        "The website redirect location must have a prefix of 'http://' or 'https://' or '/'.",
      );
