// Bucket names: the rules of S3 for new buckets since 2018.

import {
  S3_BUCKET_NAME_CHARACTERS_MAX,
  S3_BUCKET_NAME_CHARACTERS_MIN,
} from "../../../core/limits.ts";

const RESERVED = /^(xn--|sthree-|amzn-s3-demo-)|(-s3alias|--ol-s3|\.mrap|--x-s3|--table-s3)$/;

export function isBucketName(name: string): boolean {
  if (name.length < S3_BUCKET_NAME_CHARACTERS_MIN) return false;
  if (name.length > S3_BUCKET_NAME_CHARACTERS_MAX) return false;
  if (!/^[a-z0-9][a-z0-9.-]*[a-z0-9]$/.test(name)) return false;
  if (name.includes("..") || name.includes(".-") || name.includes("-.")) return false;
  if (/^\d+\.\d+\.\d+\.\d+$/.test(name)) return false;
  return !RESERVED.test(name);
}
