// S3 errors: the one table of the status of each error code, and the error document.
//   R1. The table is total: a new code does not compile until it has a status.
//   R2. The response to a HEAD has no body, and neither has "not modified".

import { refuseWith } from "../../../core/result.ts";
import type { HttpReply } from "../../../ports/http/http.ts";
import type { S3Code, S3Fault, S3Refusal } from "../../model/s3/s3-fault.ts";
import type { S3Call } from "./s3-call.ts";
import { textElement, xmlDocument } from "./xml-output.ts";

const STATUSES: Readonly<Record<S3Code, number>> = {
  AccessDenied: 403,
  AccessForbidden: 403,
  AuthorizationHeaderMalformed: 400,
  AuthorizationQueryParametersError: 400,
  BadDigest: 400,
  BadRequest: 400,
  BucketAlreadyExists: 409,
  BucketAlreadyOwnedByYou: 409,
  BucketNotEmpty: 409,
  ConditionalRequestConflict: 409,
  EntityTooLarge: 400,
  EntityTooSmall: 400,
  IncompleteBody: 400,
  InternalError: 500,
  InvalidAccessKeyId: 403,
  InvalidArgument: 400,
  InvalidBucketName: 400,
  InvalidBucketOwnerAWSAccountID: 400,
  InvalidChunkSizeError: 403,
  InvalidDigest: 400,
  InvalidLocationConstraint: 400,
  InvalidPart: 400,
  InvalidPartNumber: 416,
  InvalidPartOrder: 400,
  InvalidRange: 416,
  InvalidRedirectLocation: 400,
  InvalidRequest: 400,
  InvalidStorageClass: 400,
  InvalidTag: 400,
  InvalidToken: 400,
  InvalidURI: 400,
  KeyTooLongError: 400,
  MalformedPolicy: 400,
  MalformedTrailerError: 400,
  MalformedXML: 400,
  MetadataTooLarge: 400,
  MethodNotAllowed: 405,
  MissingContentLength: 411,
  MissingRequestBodyError: 400,
  NoSuchBucket: 404,
  NoSuchBucketPolicy: 404,
  NoSuchCORSConfiguration: 404,
  NoSuchKey: 404,
  NoSuchLifecycleConfiguration: 404,
  NoSuchPublicAccessBlockConfiguration: 404,
  NoSuchTagSet: 404,
  NoSuchUpload: 404,
  NoSuchVersion: 404,
  NoSuchWebsiteConfiguration: 404,
  NotImplemented: 501,
  NotModified: 304,
  ObjectLockConfigurationNotFoundError: 404,
  OwnershipControlsNotFoundError: 404,
  PreconditionFailed: 412,
  ReplicationConfigurationNotFoundError: 404,
  RequestTimeout: 400,
  RequestTimeTooSkewed: 403,
  ServiceUnavailable: 503,
  SignatureDoesNotMatch: 403,
  SlowDown: 503,
  XAmzContentSHA256Mismatch: 400,
};

export function denied(call: S3Call, fault: S3Fault): HttpReply {
  const status = STATUSES[fault.code];
  const headers: string[] = [];
  if (fault.marker !== undefined) {
    headers.push("x-amz-delete-marker", "true");
    headers.push("x-amz-version-id", fault.marker.version);
    if (status === 405) headers.push("Allow", "DELETE");
  }
  if (call.request.method === "HEAD" || status === 304) return { status, headers, body: "" }; // R2
  headers.push("Content-Type", "application/xml");
  return { status, headers, body: errorDocument(call, fault) };
}

function errorDocument(call: S3Call, fault: S3Fault): string {
  const fields = Object.entries(fault.fields ?? {}).map(([name, value]) =>
    textElement(name, value),
  );
  return xmlDocument(
    "<Error>" +
      textElement("Code", fault.code) +
      textElement("Message", fault.message) +
      fields.join("") +
      textElement("Resource", call.request.path) +
      textElement("RequestId", call.origin.requestId) +
      textElement("HostId", call.origin.hostId) +
      "</Error>",
  );
}

export function refusal(
  code: S3Code,
  message: string,
  fields?: Readonly<Record<string, string>>,
): S3Refusal {
  return refuseWith(fields === undefined ? { code, message } : { code, message, fields });
}

export function invalidArgument(name: string, value: string, message: string): S3Refusal {
  return refusal("InvalidArgument", message, { ArgumentName: name, ArgumentValue: value });
}

export function notImplemented(what?: string): S3Refusal {
  const message = "A header you provided implies functionality that is not implemented.";
  return refusal("NotImplemented", message, what === undefined ? undefined : { Header: what });
}
