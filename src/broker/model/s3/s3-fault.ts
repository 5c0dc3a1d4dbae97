// S3 faults: the refusals of buckets and objects. They have their own codes, because S3 has its own
// error format; the wire gives each its status.

import { type Refusal, refuseWith } from "../../../core/result.ts";
import type { Fault } from "../fault.ts";

export type S3Code =
  | "AccessDenied"
  | "AccessForbidden"
  | "AuthorizationHeaderMalformed"
  | "AuthorizationQueryParametersError"
  | "BadDigest"
  | "BadRequest"
  | "BucketAlreadyExists"
  | "BucketAlreadyOwnedByYou"
  | "BucketNotEmpty"
  | "ConditionalRequestConflict"
  | "EntityTooLarge"
  | "EntityTooSmall"
  | "IncompleteBody"
  | "InternalError"
  | "InvalidAccessKeyId"
  | "InvalidArgument"
  | "InvalidBucketName"
  | "InvalidBucketOwnerAWSAccountID"
  | "InvalidChunkSizeError"
  | "InvalidDigest"
  | "InvalidLocationConstraint"
  | "InvalidPart"
  | "InvalidPartNumber"
  | "InvalidPartOrder"
  | "InvalidRange"
  | "InvalidRedirectLocation"
  | "InvalidRequest"
  | "InvalidStorageClass"
  | "InvalidTag"
  | "InvalidToken"
  | "InvalidURI"
  | "KeyTooLongError"
  | "MalformedPolicy"
  | "MalformedTrailerError"
  | "MalformedXML"
  | "MetadataTooLarge"
  | "MethodNotAllowed"
  | "MissingContentLength"
  | "MissingRequestBodyError"
  | "NoSuchBucket"
  | "NoSuchBucketPolicy"
  | "NoSuchCORSConfiguration"
  | "NoSuchKey"
  | "NoSuchLifecycleConfiguration"
  | "NoSuchPublicAccessBlockConfiguration"
  | "NoSuchTagSet"
  | "NoSuchUpload"
  | "NoSuchVersion"
  | "NoSuchWebsiteConfiguration"
  | "NotImplemented"
  | "NotModified"
  | "ObjectLockConfigurationNotFoundError"
  | "OwnershipControlsNotFoundError"
  | "PreconditionFailed"
  | "ReplicationConfigurationNotFoundError"
  | "RequestTimeout"
  | "RequestTimeTooSkewed"
  | "ServiceUnavailable"
  | "SignatureDoesNotMatch"
  | "SlowDown"
  | "XAmzContentSHA256Mismatch";

export interface S3Fault {
  readonly code: S3Code;
  readonly message: string;
  /** More elements of the error document, by name. */
  readonly fields?: Readonly<Record<string, string>>;
  /** The delete marker found instead of an object. */
  readonly marker?: { readonly version: string };
}

export function faultCode(fault: Fault | S3Fault): string {
  return "code" in fault ? fault.code : fault.name;
}

export type S3Refusal = Refusal<S3Fault>;

export function s3Refuse(
  code: S3Code,
  message: string,
  fields?: Readonly<Record<string, string>>,
): S3Refusal {
  return refuseWith(fields === undefined ? { code, message } : { code, message, fields });
}

export function noSuchBucket(name: string): S3Refusal {
  return s3Refuse("NoSuchBucket", "The specified bucket does not exist", { BucketName: name });
}

export function noSuchKey(key: string): S3Refusal {
  return s3Refuse("NoSuchKey", "The specified key does not exist.", { Key: key });
}

export function noSuchVersion(key: string, version: string): S3Refusal {
  const fields = { Key: key, VersionId: version };
  return s3Refuse("NoSuchVersion", "The specified version does not exist.", fields);
}

export function noSuchUpload(id: string): S3Refusal {
  return s3Refuse(
    "NoSuchUpload",
    "The specified upload does not exist. The upload ID may be invalid, or the upload may have " +
      "been aborted or completed.",
    { UploadId: id },
  );
}
