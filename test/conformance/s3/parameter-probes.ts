// Parameter probes: for every parameter that S3 actions honour, a value and what it changes.

import type { RawS3Answer } from "../../support/s3-buckets.ts";

export interface ParameterProbe {
  readonly value: string;
  /** The status of the response; the request must then have changed nothing unless it is 2xx. */
  readonly status: number;
  readonly code?: string;
  /** Parameters that the request also needs, such as `range` for `if-range`. */
  readonly with?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** What the response says, or what the object or bucket says afterwards. */
  readonly shows?: RegExp;
  readonly hides?: RegExp;
  /** The actions it is for; by default all that have no other probe of this name. */
  readonly only?: readonly string[];
}

const READS = ["GetObject", "HeadObject"];
const COPY = ["CopyObject"];
const UPLOADS = { only: ["ListMultipartUploads"] };
const PAST = "Mon, 01 Jan 1990 00:00:00 GMT";
const FUTURE = "Fri, 01 Jan 2100 00:00:00 GMT";
const REPLACE = { "x-amz-metadata-directive": "REPLACE", "x-amz-tagging-directive": "REPLACE" };

/** A well-formed checksum of no bytes that a test sends. */
function digestOf(bytes: number): string {
  return Buffer.alloc(bytes, 7).toString("base64");
}

function refused(
  status: number,
  code: string,
  value: string,
  more: Partial<ParameterProbe> = {},
): ParameterProbe {
  return { value, status, code, ...more };
}

function shown(value: string, shows: RegExp, more: Partial<ParameterProbe> = {}): ParameterProbe {
  return { value, status: 200, shows, ...more };
}

/** A property of an object, which the object has afterwards; a copy must replace it. */
function property(value: string, shows: RegExp): ParameterProbe[] {
  return [shown(value, shows), shown(value, shows, { with: REPLACE, only: COPY })];
}

const owner: ParameterProbe[] = [
  refused(403, "AccessDenied", "111111111111"),
  refused(400, "InvalidBucketOwnerAWSAccountID", "me"),
];
const badDigest = (bytes: number) => [refused(400, "BadDigest", digestOf(bytes))];
const CONDITION = "PreconditionFailed";

export const PROBES: Readonly<Record<string, readonly ParameterProbe[]>> = {
  "if-match": [refused(412, CONDITION, '"other"')],
  "if-none-match": [
    refused(412, CONDITION, "*"),
    refused(501, "NotImplemented", '"other"'),
    { value: "*", status: 304, only: READS },
  ],
  "if-modified-since": [{ value: FUTURE, status: 304 }],
  "if-unmodified-since": [refused(412, CONDITION, PAST)],
  "if-range": [{ value: '"other"', status: 200, with: { range: "bytes=0-0" } }],
  range: [{ value: "bytes=0-0", status: 206, shows: /content-range: bytes 0-0\/5/ }],
  "x-amz-copy-source": [refused(404, "NoSuchKey", "/BUCKET/none")],
  "x-amz-copy-source-if-match": [refused(412, CONDITION, '"other"')],
  "x-amz-copy-source-if-none-match": [refused(412, CONDITION, "*")],
  "x-amz-copy-source-if-modified-since": [refused(412, CONDITION, FUTURE)],
  "x-amz-copy-source-if-unmodified-since": [refused(412, CONDITION, PAST)],
  "x-amz-copy-source-range": [refused(400, "InvalidArgument", "bytes=0-99")],
  "x-amz-expected-bucket-owner": owner,
  "x-amz-source-expected-bucket-owner": owner,
  "x-amz-bucket-object-lock-enabled": [refused(501, "NotImplemented", "true")],
  "content-length": [shown("5", /content-length: [45]|etag/)],
  "content-md5": badDigest(16),
  "x-amz-checksum-crc32": badDigest(4),
  "x-amz-checksum-crc32c": badDigest(4),
  "x-amz-checksum-crc64nvme": badDigest(8),
  "x-amz-checksum-md5": badDigest(16),
  "x-amz-checksum-sha1": badDigest(20),
  "x-amz-checksum-sha256": badDigest(32),
  "x-amz-checksum-sha512": badDigest(64),
  "x-amz-sdk-checksum-algorithm": [
    refused(400, "InvalidRequest", "CRC16"),
    refused(501, "NotImplemented", "XXHASH3"),
  ],
  "x-amz-checksum-algorithm": [
    refused(400, "InvalidRequest", "CRC16"),
    refused(501, "NotImplemented", "XXHASH64"),
    shown("SHA512", /x-amz-checksum-sha512: \S+/),
  ],
  "x-amz-checksum-type": [
    refused(400, "InvalidArgument", "HALF", { only: ["CreateMultipartUpload"] }),
    refused(400, "InvalidRequest", "COMPOSITE", { only: ["CompleteMultipartUpload"] }),
  ],
  "x-amz-checksum-mode": [shown("ENABLED", /x-amz-checksum-crc64nvme: \S+/)],
  "x-amz-mp-object-size": [refused(400, "InvalidRequest", "1")],
  "cache-control": property("no-store", /cache-control: no-store/),
  "content-disposition": property("inline", /content-disposition: inline/),
  "content-encoding": property("gzip", /content-encoding: gzip/),
  "content-language": property("sv", /content-language: sv/),
  "content-type": property("text/x-own", /content-type: text\/x-own/),
  expires: property(FUTURE, /expires: Fri, 01 Jan 2100/),
  "x-amz-meta-": property("probe", /x-amz-meta-: probe/),
  "x-amz-storage-class": [
    shown("STANDARD_IA", /x-amz-storage-class: STANDARD_IA/),
    refused(400, "InvalidStorageClass", "PAPER"),
  ],
  "x-amz-tagging": [
    ...property("a=1", /x-amz-tagging-count: 1/),
    refused(400, "InvalidArgument", "a=1&a=2"),
  ],
  "x-amz-website-redirect-location": [
    shown("/other", /x-amz-website-redirect-location: \/other/),
    refused(400, "InvalidRedirectLocation", "other"),
  ],
  "x-amz-metadata-directive": [refused(400, "InvalidArgument", "GUESS")],
  "x-amz-tagging-directive": [refused(400, "InvalidArgument", "GUESS")],
  // What it confirms needs keys: test/conformance/auth/access.test.ts.
  "x-amz-confirm-remove-self-bucket-access": [{ value: "true", status: 204 }],
  "x-amz-object-ownership": [
    shown("ObjectWriter", /<ObjectOwnership>ObjectWriter</),
    refused(400, "InvalidArgument", "Nobody"),
  ],
  "x-amz-bucket-namespace": [refused(501, "NotImplemented", "account-regional")],
  "x-amz-transition-default-minimum-object-size": [
    refused(501, "NotImplemented", "varies_by_storage_class"),
  ],
  "x-amz-skip-destination-validation": [
    shown("true", /no-such-queue/, {
      body:
        "<NotificationConfiguration><QueueConfiguration><Event>s3:ObjectCreated:*</Event>" +
        "<Queue>arn:aws:sqs:us-east-1:000000000000:no-such-queue</Queue></QueueConfiguration>" +
        "</NotificationConfiguration>",
    }),
  ],
  "?versionId": [refused(400, "InvalidArgument", "none")],
  "?partNumber": [refused(400, "InvalidArgument", "0")],
  "?uploadId": [refused(404, "NoSuchUpload", "none")],
  "?response-cache-control": [shown("no-store", /cache-control: no-store/)],
  "?response-content-disposition": [shown("inline", /content-disposition: inline/)],
  "?response-content-encoding": [shown("gzip", /content-encoding: gzip/)],
  "?response-content-language": [shown("sv", /content-language: sv/)],
  "?response-content-type": [shown("text/x-own", /content-type: text\/x-own/)],
  "?response-expires": [shown("never", /expires: never/)],
  "?delimiter": [shown("/", /<CommonPrefixes>/), shown("p", /<CommonPrefixes>/, UPLOADS)],
  "?encoding-type": [refused(400, "InvalidArgument", "rot13")],
  "?prefix": [shown("zzz", /<Prefix>zzz</, { hides: /<Key>|<Bucket><Name>/ })],
  "?max-keys": [refused(400, "InvalidArgument", "few")],
  "?marker": [shown("zzz", /<Marker>zzz</, { hides: /<Key>/ })],
  "?fetch-owner": [shown("true", /<Owner>/)],
  "?start-after": [shown("zzz", /<StartAfter>zzz</, { hides: /<Key>/ })],
  "?continuation-token": [refused(400, "InvalidArgument", "!")],
  "?bucket-region": [{ value: "eu-north-1", status: 200, hides: /<Bucket>/ }],
  "?max-buckets": [refused(400, "InvalidArgument", "few")],
  "?key-marker": [shown("zzz", /<KeyMarker>zzz</, { hides: /<Key>/ })],
  "?version-id-marker": [refused(400, "InvalidArgument", "null")],
  "?max-uploads": [refused(400, "InvalidArgument", "few")],
  "?upload-id-marker": [
    shown("zzz", /<UploadIdMarker>zzz</, { with: { "?key-marker": "up" }, hides: /<UploadId>/ }),
  ],
  "?max-parts": [refused(400, "InvalidArgument", "few")],
  "?part-number-marker": [refused(400, "InvalidArgument", "few")],
};

/** The probes of a parameter for one action: its own, else those without an action. */
export function probesOf(name: string, action: string): readonly ParameterProbe[] {
  const probes = PROBES[name] ?? [];
  const own = probes.filter(({ only }) => only?.includes(action) === true);
  return own.length > 0 ? own : probes.filter(({ only }) => only === undefined);
}

/** The headers and the body of a response as one text. */
export function replyText({ headers, body }: RawS3Answer): string {
  const lines = [...headers].map(([name, value]) => `${name}: ${value}`);
  return `${lines.join("\n")}\n${body}`;
}
