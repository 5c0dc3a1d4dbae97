// Parameter table: every header and query parameter that the actions of S3 accept, and what becomes
// of each. test/conformance/s3/parameters.test.ts compares it with the model of the AWS SDK and
// tries every row.
//   P1. A parameter that an action accepts is honoured, or refused, or harmless: a row that is
//       ignored says why nothing is lost by that.

import type { S3Action } from "../s3-call.ts";
import {
  checkAlgorithm,
  checkBucketOwner,
  checkChecksumHeader,
  checkRedirect,
  checkTrailer,
  only,
  onlyKnown,
  refuseBypass,
  refuseLock,
  unsupported,
} from "./parameter-checks.ts";
import type { ParameterRow } from "./parameter-row.ts";

const WRITES = ["PutObject", "CopyObject", "CreateMultipartUpload"];
const READS = ["GetObject", "HeadObject"];
const COPIES = ["CopyObject", "UploadPartCopy"];
const LISTS = ["ListObjects", "ListObjectsV2", "ListObjectVersions"];
const PAGES = [...LISTS, "ListMultipartUploads"];
const DELETES = ["DeleteObject", "DeleteObjects"];
const CUSTOMER_KEYS = [
  ...WRITES,
  ...READS,
  "UploadPart",
  "UploadPartCopy",
  "CompleteMultipartUpload",
  "ListParts",
];
const BODILESS = new Set(["CopyObject", "UploadPartCopy", "CreateMultipartUpload"]);

const NO_GRANTS = "ACLs grant nothing here: with keys, policies decide; without, all is allowed";

const all = () => true;
const withBody = ({ name, method }: S3Action) =>
  (method === "PUT" || method === "POST") && !BODILESS.has(name);

const CHECKSUMS = ["crc32", "crc32c", "crc64nvme", "md5", "sha1", "sha256", "sha512"];
const OTHER_CHECKSUMS = ["xxhash3", "xxhash64", "xxhash128"];

function named(prefix: string, names: readonly string[]): string[] {
  return names.map((name) => `${prefix}${name}`);
}

const CONDITIONS: readonly ParameterRow[] = [
  {
    names: ["if-match"],
    actions: [...READS, "CopyObject", "PutObject", "CompleteMultipartUpload", "DeleteObject"],
    use: "honoured",
  },
  {
    names: ["if-none-match"],
    actions: [...READS, "CopyObject", "PutObject", "CompleteMultipartUpload"],
    use: "honoured",
  },
  {
    names: ["if-modified-since", "if-unmodified-since", "if-range", "range"],
    actions: READS,
    use: "honoured",
  },
  {
    names: named("x-amz-copy-source", [
      "",
      "-if-match",
      "-if-none-match",
      "-if-modified-since",
      "-if-unmodified-since",
    ]),
    actions: COPIES,
    use: "honoured",
  },
  { names: ["x-amz-copy-source-range"], actions: ["UploadPartCopy"], use: "honoured" },
  // S3 has these conditions in directory buckets only, and answers the same in all others.
  {
    names: ["x-amz-if-match-last-modified-time", "x-amz-if-match-size"],
    actions: ["DeleteObject"],
    use: "refused",
    check: unsupported,
  },
  {
    names: ["x-amz-if-match-initiated-time"],
    actions: ["AbortMultipartUpload"],
    use: "refused",
    check: unsupported,
  },
  {
    names: ["x-amz-expected-bucket-owner"],
    actions: all,
    use: "honoured",
    check: checkBucketOwner,
  },
  {
    names: ["x-amz-source-expected-bucket-owner"],
    actions: COPIES,
    use: "honoured",
    check: checkBucketOwner,
  },
];

const PROTECTIONS: readonly ParameterRow[] = [
  {
    names: ["x-amz-bucket-object-lock-enabled"],
    actions: ["CreateBucket"],
    use: "honoured",
    check: only("false"),
  },
  {
    names: named("x-amz-object-lock-", [
      "mode",
      "retain-until-date",
      "legal-hold",
      "event-hold",
      "event-hold-duration-days",
      "event-hold-duration-years",
    ]),
    actions: WRITES,
    use: "refused",
    check: refuseLock,
  },
  {
    names: ["x-amz-bypass-governance-retention"],
    actions: DELETES,
    use: "refused",
    check: refuseBypass,
  },
  {
    names: ["x-amz-mfa"],
    actions: [...DELETES, "PutBucketVersioning"],
    use: "harmless",
    reason: "MFA delete cannot be enabled, and in a bucket without it S3 ignores the header, too",
  },
  {
    names: named("x-amz-server-side-encryption-customer-", ["algorithm", "key", "key-md5"]),
    actions: CUSTOMER_KEYS,
    use: "refused",
    check: unsupported,
  },
  {
    names: named("x-amz-copy-source-server-side-encryption-customer-", [
      "algorithm",
      "key",
      "key-md5",
    ]),
    actions: COPIES,
    use: "refused",
    check: unsupported,
  },
  {
    names: ["x-amz-server-side-encryption"],
    actions: WRITES,
    use: "harmless",
    check: onlyKnown(
      "The encryption method specified is not supported",
      "AES256",
      "aws:kms",
      "aws:kms:dsse",
    ),
    reason: "the embedded cloud encrypts nothing by any method, as its documentation says",
  },
  {
    names: named("x-amz-server-side-encryption-", [
      "aws-kms-key-id",
      "bucket-key-enabled",
      "context",
    ]),
    actions: WRITES,
    use: "harmless",
    reason: "a key has nothing to encrypt, as the documentation of the embedded cloud says",
  },
  {
    names: ["x-amz-acl"],
    actions: [...WRITES, "CreateBucket"],
    use: "harmless",
    check: onlyKnown(
      "",
      "private",
      "public-read",
      "public-read-write",
      "authenticated-read",
      "aws-exec-read",
      "bucket-owner-read",
      "bucket-owner-full-control",
      "log-delivery-write",
    ),
    reason: NO_GRANTS,
  },
  {
    names: named("x-amz-grant-", ["full-control", "read", "read-acp", "write-acp"]),
    actions: [...WRITES, "CreateBucket"],
    use: "harmless",
    reason: NO_GRANTS,
  },
  {
    names: ["x-amz-grant-write"],
    actions: ["CreateBucket"],
    use: "harmless",
    reason: NO_GRANTS,
  },
  {
    names: ["x-amz-confirm-remove-self-bucket-access"],
    actions: ["PutBucketPolicy"],
    use: "honoured",
  },
];

const CHECKSUM_ROWS: readonly ParameterRow[] = [
  { names: ["content-md5"], actions: withBody, use: "honoured" },
  { names: named("x-amz-checksum-", CHECKSUMS), actions: withBody, use: "honoured" },
  {
    names: named("x-amz-checksum-", OTHER_CHECKSUMS),
    actions: withBody,
    use: "refused",
    check: (_value, _call, name) => checkChecksumHeader(name),
  },
  {
    names: ["x-amz-sdk-checksum-algorithm"],
    actions: all,
    use: "honoured",
    check: checkAlgorithm,
  },
  {
    names: ["x-amz-checksum-algorithm"],
    actions: ["CopyObject", "CreateMultipartUpload"],
    use: "honoured",
    check: checkAlgorithm,
  },
  {
    names: ["x-amz-checksum-type"],
    actions: ["CreateMultipartUpload", "CompleteMultipartUpload"],
    use: "honoured",
  },
  { names: ["x-amz-checksum-mode"], actions: READS, use: "honoured" },
  { names: ["x-amz-mp-object-size"], actions: ["CompleteMultipartUpload"], use: "honoured" },
  { names: ["x-amz-trailer"], actions: withBody, use: "honoured", check: checkTrailer },
  { names: ["content-length"], actions: all, use: "honoured" },
  {
    names: ["x-amz-content-sha256", "x-amz-decoded-content-length"],
    actions: all,
    use: "honoured",
  },
];

const PROPERTIES: readonly ParameterRow[] = [
  {
    names: [
      ...["cache-control", "content-disposition", "content-encoding", "content-language"],
      ...["content-type", "expires", "x-amz-meta-", "x-amz-storage-class", "x-amz-tagging"],
    ],
    actions: WRITES,
    use: "honoured",
  },
  {
    names: ["x-amz-website-redirect-location"],
    actions: WRITES,
    use: "honoured",
    check: checkRedirect,
  },
  {
    names: ["x-amz-metadata-directive", "x-amz-tagging-directive"],
    actions: ["CopyObject"],
    use: "honoured",
  },
  {
    names: ["x-amz-object-annotation-directive"],
    actions: ["CopyObject"],
    use: "refused",
    check: unsupported,
  },
  {
    names: ["x-amz-write-offset-bytes"],
    actions: ["PutObject"],
    use: "refused",
    check: unsupported,
  },
  { names: ["x-amz-object-ownership"], actions: ["CreateBucket"], use: "honoured" },
  {
    names: ["x-amz-bucket-namespace"],
    actions: ["CreateBucket"],
    use: "honoured",
    check: only("global"),
  },
  {
    names: ["x-amz-transition-default-minimum-object-size"],
    actions: ["PutBucketLifecycleConfiguration"],
    use: "honoured",
    check: only("all_storage_classes_128k"),
  },
  {
    names: ["x-amz-skip-destination-validation"],
    actions: ["PutBucketNotificationConfiguration"],
    use: "honoured",
  },
  {
    names: ["x-amz-optional-object-attributes"],
    actions: LISTS,
    use: "harmless",
    check: onlyKnown("Invalid attribute name specified.", "RestoreStatus"),
    reason: "no object is archived, so none has a restore status to list",
  },
  {
    names: ["x-amz-request-payer"],
    actions: all,
    use: "harmless",
    reason: "requests cost nothing",
  },
];

const QUERY: readonly ParameterRow[] = [
  {
    names: ["?versionId"],
    actions: [
      ...READS,
      ...["GetObjectAcl", "GetObjectTagging", "PutObjectTagging", "DeleteObjectTagging"],
      "DeleteObject",
    ],
    use: "honoured",
  },
  {
    names: ["?partNumber"],
    actions: [...READS, "UploadPart", "UploadPartCopy"],
    use: "honoured",
  },
  {
    names: ["?uploadId"],
    actions: [
      ...["UploadPart", "UploadPartCopy", "ListParts"],
      ...["CompleteMultipartUpload", "AbortMultipartUpload"],
    ],
    use: "honoured",
  },
  {
    names: named("?response-", [
      ...["cache-control", "content-disposition", "content-encoding", "content-language"],
      ...["content-type", "expires"],
    ]),
    actions: READS,
    use: "honoured",
  },
  { names: ["?delimiter", "?encoding-type"], actions: PAGES, use: "honoured" },
  { names: ["?prefix"], actions: [...PAGES, "ListBuckets"], use: "honoured" },
  { names: ["?max-keys"], actions: LISTS, use: "honoured" },
  { names: ["?marker"], actions: ["ListObjects"], use: "honoured" },
  { names: ["?fetch-owner", "?start-after"], actions: ["ListObjectsV2"], use: "honoured" },
  {
    names: ["?continuation-token"],
    actions: ["ListObjectsV2", "ListBuckets"],
    use: "honoured",
  },
  { names: ["?bucket-region", "?max-buckets"], actions: ["ListBuckets"], use: "honoured" },
  {
    names: ["?key-marker"],
    actions: ["ListObjectVersions", "ListMultipartUploads"],
    use: "honoured",
  },
  { names: ["?version-id-marker"], actions: ["ListObjectVersions"], use: "honoured" },
  {
    names: ["?max-uploads", "?upload-id-marker"],
    actions: ["ListMultipartUploads"],
    use: "honoured",
  },
  { names: ["?max-parts", "?part-number-marker"], actions: ["ListParts"], use: "honoured" },
];

/** Headers that clients and proxies add to every request; no action has them in its model. */
const TRANSPORT: readonly ParameterRow[] = [
  {
    names: ["x-amz-date", "x-amz-security-token"],
    actions: all,
    use: "harmless",
    reason: "honoured with keys; without keys, signatures are not checked",
  },
  {
    names: ["x-amz-user-agent", "x-amz-te", "x-amz-api-version", "x-amz-cf-id"],
    actions: all,
    use: "harmless",
    reason: "they describe the client or the connection and ask for nothing",
  },
];

export const PARAMETERS: readonly ParameterRow[] = [
  ...CONDITIONS,
  ...PROTECTIONS,
  ...CHECKSUM_ROWS,
  ...PROPERTIES,
  ...QUERY,
  ...TRANSPORT,
];
