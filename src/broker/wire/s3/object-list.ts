// Object lists: code that ListObjects, ListObjectsV2 and ListObjectVersions share.

import { S3_LIST_KEYS_MAX } from "../../../core/limits.ts";
import { type Result, succeed } from "../../../core/result.ts";
import type { StoredEntry } from "../../../ports/broker/object-change.ts";
import type { ObjectDetail } from "../../model/s3/object-detail.ts";
import type { S3Fault } from "../../model/s3/s3-fault.ts";
import type { ListInput } from "../../model/s3/s3-operations.ts";
import { readEncoding, readLimit } from "./list-parameters.ts";
import type { S3Call } from "./s3-call.ts";
import { element, instant, textElement } from "./xml-output.ts";

export interface ListParameters {
  readonly input: Omit<ListInput, "after">;
  readonly encode: (name: string) => string;
}

export function readListParameters(
  call: S3Call,
  limitName = "max-keys",
): Result<ListParameters, S3Fault> {
  const limit = readLimit(call, limitName, S3_LIST_KEYS_MAX);
  if (!limit.ok) return limit;
  const encode = readEncoding(call);
  if (!encode.ok) return encode;
  const prefix = call.query.get("prefix") ?? "";
  const delimiter = call.query.get("delimiter") ?? "";
  const input = { bucket: call.bucket, prefix, delimiter, limit: limit.value };
  return succeed({ input, encode: encode.value });
}

/** The request parameters that every list response repeats. */
export function writeListHead(call: S3Call, { input, encode }: ListParameters): string {
  const encoding = call.query.get("encoding-type");
  return (
    textElement("Name", call.bucket) +
    textElement("Prefix", encode(input.prefix)) +
    (input.delimiter === "" ? "" : textElement("Delimiter", encode(input.delimiter))) +
    (encoding === null ? "" : textElement("EncodingType", encoding))
  );
}

export function writePrefixes(prefixes: readonly string[], encode: (name: string) => string) {
  return prefixes
    .map((prefix) => element("CommonPrefixes", textElement("Prefix", encode(prefix))))
    .join("");
}

/** The elements of one version in a list. */
export function writeEntry(entry: StoredEntry, encode: (name: string) => string): string {
  const { checksum } = JSON.parse(entry.detail) as ObjectDetail;
  return (
    textElement("Key", encode(entry.key)) +
    instant("LastModified", entry.modifiedAt) +
    textElement("ETag", `"${entry.etag}"`) +
    (checksum === null
      ? ""
      : textElement("ChecksumAlgorithm", checksum.algorithm) +
        textElement("ChecksumType", checksum.type)) +
    textElement("Size", entry.sizeBytes) +
    textElement("StorageClass", entry.storageClass)
  );
}
