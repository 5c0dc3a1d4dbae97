// Object headers: the properties that a client sends with an object and gets back with it.
//   H1. Content headers and user metadata are returned byte for byte as sent.
//   H2. aws-chunked is the encoding of one request and not a property of the object.

import type { Checksum } from "../../../core/encoding/checksum.ts";
import { formatHttpDate } from "../../../core/encoding/http-date.ts";
import { type Result, succeed } from "../../../core/result.ts";
import type { StoredObject } from "../../../ports/broker/object-change.ts";
import type { ObjectDetail } from "../../model/s3/object-detail.ts";
import type { S3Fault } from "../../model/s3/s3-fault.ts";
import { headerOf } from "./request-body.ts";
import type { S3Call } from "./s3-call.ts";
import { refusal } from "./s3-errors.ts";
import { parseTagHeader } from "./tag-set.ts";

const STORED_HEADERS = [
  "cache-control",
  "content-disposition",
  "content-encoding",
  "content-language",
  "content-type",
  "expires",
  "x-amz-website-redirect-location",
];
const METADATA_PREFIX = "x-amz-meta-";
const METADATA_BYTES_MAX = 2 * 1_024;
const FALLBACK_TYPE = "binary/octet-stream";

const STORAGE_CLASSES = new Set([
  "STANDARD",
  "REDUCED_REDUNDANCY",
  "STANDARD_IA",
  "ONEZONE_IA",
  "INTELLIGENT_TIERING",
  "GLACIER",
  "DEEP_ARCHIVE",
  "GLACIER_IR",
  "EXPRESS_ONEZONE",
]);

export interface SentProperties {
  readonly headers: Record<string, string>;
  readonly metadata: Record<string, string>;
  readonly tags: Record<string, string>;
  readonly storageClass: string;
}

export function readProperties(call: S3Call): Result<SentProperties, S3Fault> {
  const sent = call.request.headers;
  const storageClass = sent["x-amz-storage-class"] ?? "STANDARD";
  if (!STORAGE_CLASSES.has(storageClass)) {
    return refusal("InvalidStorageClass", "The storage class you specified is not valid", {
      StorageClassRequested: storageClass,
    });
  }
  const tags = parseTagHeader(sent["x-amz-tagging"] ?? "");
  if (!tags.ok) return tags;
  const metadata = readMetadata(sent);
  if (!metadata.ok) return metadata;
  return succeed({
    headers: readStored(sent),
    metadata: metadata.value,
    tags: tags.value,
    storageClass,
  });
}

type Headers = Readonly<Record<string, string | undefined>>;

function readStored(sent: Headers): Record<string, string> {
  const stored: Record<string, string> = {};
  for (const name of STORED_HEADERS) {
    const value = name === "content-encoding" ? encodingOf(sent[name]) : sent[name];
    if (value !== undefined && value !== "") stored[name] = value;
  }
  return stored;
}

function encodingOf(value: string | undefined): string | undefined {
  if (value === undefined) return undefined;
  const encodings = value.split(",").map((each) => each.trim());
  return encodings.filter((each) => each !== "aws-chunked").join(","); // H2
}

function readMetadata(sent: Headers): Result<Record<string, string>, S3Fault> {
  const metadata: Record<string, string> = {};
  let bytes = 0;
  for (const [name, value] of Object.entries(sent)) {
    if (!name.startsWith(METADATA_PREFIX) || value === undefined) continue;
    const key = name.slice(METADATA_PREFIX.length);
    bytes += key.length + value.length;
    metadata[key] = value;
  }
  if (bytes <= METADATA_BYTES_MAX) return succeed(metadata);
  return refusal(
    "MetadataTooLarge",
    "Your metadata headers exceed the maximum allowed metadata size",
    { Size: String(bytes), MaxSizeAllowed: String(METADATA_BYTES_MAX) },
  );
}

/** The headers of an object, for GET and HEAD. */
export function objectHeaders(
  object: StoredObject,
  detail: ObjectDetail,
  version: string | null,
): string[] {
  const headers = [
    "Last-Modified",
    formatHttpDate(object.modifiedAt),
    "ETag",
    `"${object.etag}"`,
    "Accept-Ranges",
    "bytes",
    "x-amz-server-side-encryption",
    "AES256",
  ];
  for (const [name, value] of Object.entries({
    "content-type": FALLBACK_TYPE,
    ...detail.headers,
  })) {
    headers.push(name, value); // H1
  }
  for (const [name, value] of Object.entries(detail.metadata)) {
    headers.push(`${METADATA_PREFIX}${name}`, value);
  }
  if (version !== null) headers.push("x-amz-version-id", version);
  if (object.storageClass !== "STANDARD") headers.push("x-amz-storage-class", object.storageClass);
  const tagCount = Object.keys(detail.tags).length;
  if (tagCount > 0) headers.push("x-amz-tagging-count", String(tagCount));
  return headers;
}

export function checksumHeaders(checksum: Checksum | null): string[] {
  if (checksum === null) return [];
  const { algorithm, value, type } = checksum;
  return [headerOf(algorithm), value, "x-amz-checksum-type", type];
}

/** The headers of the response to a write. */
export function writtenHeaders(
  etag: string,
  version: string | null,
  checksum: Checksum | null,
): string[] {
  const headers = ["ETag", `"${etag}"`, ...checksumHeaders(checksum)];
  headers.push("x-amz-server-side-encryption", "AES256");
  if (version !== null) headers.push("x-amz-version-id", version);
  return headers;
}
