// S3 access: which rights an action of S3 needs, and how S3 refuses.
//   A1. A right has the name of its action, unless a table says otherwise. `V`: it has another name
//       for a version that the request names.
//   A2. What a request does beside its action needs a right of its own: to read a copy's source, to
//       set tags.
//   A3. Who may not list a bucket does not learn which keys exist: a missing key is refused.

import type { AccessContext } from "../../../core/access/access-policy.ts";
import type { HttpReply } from "../../../ports/http/http.ts";
import type { S3Refusal } from "../../model/s3/s3-fault.ts";
import { parseCopySource } from "../s3/copy-source.ts";
import type { S3Action, S3Call } from "../s3/s3-call.ts";
import { denied, refusal } from "../s3/s3-errors.ts";
import { missingRight, type RefusedRight, type Right, refusalText } from "./authorize.ts";

/** Rights on objects that differ from the name of the action, or have a form for versions. */
const OBJECT_RIGHTS: Readonly<Record<string, string>> = {
  GetObject: "GetObject|V",
  HeadObject: "GetObject|V",
  GetObjectAcl: "GetObjectAcl|V",
  GetObjectTagging: "GetObjectTagging|V",
  PutObjectTagging: "PutObjectTagging|V",
  DeleteObjectTagging: "DeleteObjectTagging|V",
  DeleteObject: "DeleteObject|V",
  PutObject: "PutObject",
  CopyObject: "PutObject",
  CreateMultipartUpload: "PutObject",
  UploadPart: "PutObject",
  UploadPartCopy: "PutObject",
  CompleteMultipartUpload: "PutObject",
  AbortMultipartUpload: "AbortMultipartUpload",
  ListParts: "ListMultipartUploadParts",
};

/** Rights on buckets that differ from the name of the action. */
const BUCKET_RIGHTS: Readonly<Record<string, string>> = {
  ListBuckets: "ListAllMyBuckets",
  HeadBucket: "ListBucket",
  ListObjects: "ListBucket",
  ListObjectsV2: "ListBucket",
  ListObjectVersions: "ListBucketVersions",
  ListMultipartUploads: "ListBucketMultipartUploads",
  GetBucketNotificationConfiguration: "GetBucketNotification",
  PutBucketNotificationConfiguration: "PutBucketNotification",
  DeleteBucketTagging: "PutBucketTagging",
  GetBucketCors: "GetBucketCORS",
  PutBucketCors: "PutBucketCORS",
  DeleteBucketCors: "PutBucketCORS",
  GetBucketLifecycleConfiguration: "GetLifecycleConfiguration",
  PutBucketLifecycleConfiguration: "PutLifecycleConfiguration",
  DeleteBucketLifecycle: "PutLifecycleConfiguration",
  GetBucketEncryption: "GetEncryptionConfiguration",
  PutBucketEncryption: "PutEncryptionConfiguration",
  DeleteBucketEncryption: "PutEncryptionConfiguration",
  GetPublicAccessBlock: "GetBucketPublicAccessBlock",
  PutPublicAccessBlock: "PutBucketPublicAccessBlock",
  DeletePublicAccessBlock: "PutBucketPublicAccessBlock",
  DeleteBucketOwnershipControls: "PutBucketOwnershipControls",
  GetBucketAccelerateConfiguration: "GetAccelerateConfiguration",
  PutBucketAccelerateConfiguration: "PutAccelerateConfiguration",
  GetBucketReplication: "GetReplicationConfiguration",
  GetObjectLockConfiguration: "GetBucketObjectLockConfiguration",
};

/** The refusal of a caller who lacks a right, or null. */
export function refuseS3(call: S3Call, action: S3Action): S3Refusal | null {
  if (call.server.authority === null) return null;
  if (action.name === "DeleteObjects") return null; // It asks for each key: mayDelete.
  const refused = missingRight(call, rightsOf(call, action));
  return refused === null ? null : accessDenied(call, refused);
}

/** The refusal of a policy under which the caller could not change it again, or null. */
export function refuseLockout(call: S3Call, newPolicy: string): S3Refusal | null {
  const { headers } = call.request;
  const isConfirmed = headers["x-amz-confirm-remove-self-bucket-access"]?.toLowerCase() === "true";
  if (call.server.authority === null || isConfirmed) return null;
  const right = bucketRight("PutBucketPolicy", call.bucket, contextOf(call));
  if (missingRight(call, [{ ...right, newPolicy }]) === null) return null;
  return refusal(
    "NotImplemented",
    `Under this policy, ${call.caller.arn} could not change it again; to confirm that, send ` +
      "x-amz-confirm-remove-self-bucket-access: true",
  );
}

/** The refusal to delete one of the keys of DeleteObjects, or null. */
export function mayDelete(call: S3Call, key: string, version: string | null): S3Refusal | null {
  const name = version === null ? "DeleteObject" : "DeleteObjectVersion";
  const own = version === null ? {} : { "s3:versionid": version };
  const context = { ...contextOf(call), ...own };
  const refused = missingRight(call, [objectRight(name, call.bucket, key, context)]);
  return refused === null ? null : accessDenied(call, refused);
}

/** The reply for a caller who may not know whether a key exists (A3). */
export function hideMissing(call: S3Call, { name }: S3Action, reply: HttpReply): HttpReply {
  const reads = name === "GetObject" || name === "HeadObject";
  if (call.server.authority === null || reply.status !== 404 || !reads) return reply;
  const refused = missingRight(call, [bucketRight("ListBucket", call.bucket, {})]);
  return refused === null ? reply : denied(call, accessDenied(call, refused).fault);
}

function rightsOf(call: S3Call, action: S3Action): Right[] {
  const { bucket, key, query, request } = call;
  const context = contextOf(call);
  if (action.at !== "object") {
    return [bucketRight(BUCKET_RIGHTS[action.name] ?? action.name, bucket, context)];
  }
  const [name = "", versioned] = (OBJECT_RIGHTS[action.name] ?? action.name).split("|"); // A1
  const isVersion = versioned !== undefined && query.has("versionId");
  const own = objectRight(isVersion ? versionOf(name) : name, bucket, key, context);
  return [own, ...sourceRights(request.headers), ...tagRights(call, action, context)]; // A2
}

/** GetObjectTagging becomes GetObjectVersionTagging. */
function versionOf(name: string): string {
  return name.replace("Object", "ObjectVersion");
}

function sourceRights(headers: S3Call["request"]["headers"]): Right[] {
  const header = headers["x-amz-copy-source"];
  const source = header === undefined ? null : parseCopySource(header);
  if (source === null) return [];
  const name = source.version === null ? "GetObject" : "GetObjectVersion";
  return [objectRight(name, source.bucket, source.key, {})];
}

function tagRights({ bucket, key, request }: S3Call, { name }: S3Action, context: AccessContext) {
  const isSet = request.headers["x-amz-tagging"] !== undefined && /^(?:Put|Copy|Create)/.test(name);
  return isSet ? [objectRight("PutObjectTagging", bucket, key, context)] : [];
}

function objectRight(name: string, bucket: string, key: string, context: AccessContext): Right {
  const resource = `arn:aws:s3:::${bucket}/${key}`;
  return { action: `s3:${name}`, resource, policyOf: { kind: "bucket", name: bucket }, context };
}

function bucketRight(name: string, bucket: string, context: AccessContext): Right {
  const isOpen = name === "CreateBucket" || bucket === "";
  return {
    action: `s3:${name}`,
    resource: `arn:aws:s3:::${bucket === "" ? "*" : bucket}`,
    policyOf: isOpen ? null : { kind: "bucket", name: bucket },
    context,
  };
}

const HEADER_KEYS = [
  "x-amz-acl",
  "x-amz-content-sha256",
  "x-amz-copy-source",
  "x-amz-metadata-directive",
  "x-amz-server-side-encryption",
  "x-amz-server-side-encryption-aws-kms-key-id",
  "x-amz-storage-class",
  "x-amz-website-redirect-location",
];

function contextOf({ query, request, signed, caller }: S3Call): AccessContext {
  const context: Record<string, string | readonly string[]> = {};
  for (const name of ["prefix", "delimiter", "max-keys"]) {
    const value = query.get(name);
    if (value !== null) context[`s3:${name}`] = value;
  }
  const version = query.get("versionId");
  if (version !== null) context["s3:versionid"] = version;
  for (const name of HEADER_KEYS) {
    const value = request.headers[name];
    if (value !== undefined) context[`s3:${name}`] = value;
  }
  if (caller.account !== "") {
    const isHeader = request.headers.authorization !== undefined;
    context["s3:authtype"] = isHeader ? "REST-HEADER" : "REST-QUERY-STRING";
    context["s3:signatureversion"] = signed === null ? "AWS" : "AWS4-HMAC-SHA256";
  }
  const tags = [...new URLSearchParams(request.headers["x-amz-tagging"] ?? "")];
  for (const [name, value] of tags) context[`s3:requestobjecttag/${name.toLowerCase()}`] = value;
  if (tags.length > 0) context["s3:requestobjecttagkeys"] = tags.map(([name]) => name);
  return context;
}

/** Only callers of the same account learn why. */
function accessDenied(call: S3Call, refused: RefusedRight): S3Refusal {
  if (call.caller.account !== call.server.broker.account) {
    return refusal("AccessDenied", "Access Denied");
  }
  const { action, resource } = refused.right;
  const quoted = { ...refused, right: { ...refused.right, resource: `"${resource}"` } };
  return refusal("AccessDenied", refusalText(call.caller, quoted, action));
}
