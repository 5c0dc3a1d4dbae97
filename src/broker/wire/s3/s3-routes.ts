// S3 routes: all actions, and which of them a request selects.
//   R1. The first matching action wins, so actions with more requirements come first.
//   R2. A parameter that names an unsupported part of S3 is refused, never ignored; otherwise the
//       request would apply to the object itself.

import { type Result, succeed } from "../../../core/result.ts";
import type { S3Fault, S3Refusal } from "../../model/s3/s3-fault.ts";
import { abortMultipartUpload } from "./actions/abort-multipart-upload.ts";
import { completeMultipartUpload } from "./actions/complete-multipart-upload.ts";
import { copyObject } from "./actions/copy-object.ts";
import { createBucket } from "./actions/create-bucket.ts";
import { createMultipartUpload } from "./actions/create-multipart-upload.ts";
import { deleteBucket } from "./actions/delete-bucket.ts";
import { deleteBucketTagging } from "./actions/delete-bucket-tagging.ts";
import { deleteObject } from "./actions/delete-object.ts";
import { deleteObjectTagging } from "./actions/delete-object-tagging.ts";
import { deleteObjects } from "./actions/delete-objects.ts";
import { getBucketAcl } from "./actions/get-bucket-acl.ts";
import { getBucketLocation } from "./actions/get-bucket-location.ts";
import { getBucketNotificationConfiguration } from "./actions/get-bucket-notification-configuration.ts";
import { getBucketTagging } from "./actions/get-bucket-tagging.ts";
import { getBucketVersioning } from "./actions/get-bucket-versioning.ts";
import { getObject } from "./actions/get-object.ts";
import { getObjectAcl } from "./actions/get-object-acl.ts";
import { getObjectTagging } from "./actions/get-object-tagging.ts";
import { headBucket } from "./actions/head-bucket.ts";
import { headObject } from "./actions/head-object.ts";
import { listBuckets } from "./actions/list-buckets.ts";
import { listMultipartUploads } from "./actions/list-multipart-uploads.ts";
import { listObjectVersions } from "./actions/list-object-versions.ts";
import { listObjects } from "./actions/list-objects.ts";
import { listObjectsV2 } from "./actions/list-objects-v2.ts";
import { listParts } from "./actions/list-parts.ts";
import { putBucketNotificationConfiguration } from "./actions/put-bucket-notification-configuration.ts";
import { putBucketTagging } from "./actions/put-bucket-tagging.ts";
import { putBucketVersioning } from "./actions/put-bucket-versioning.ts";
import { putObject } from "./actions/put-object.ts";
import { putObjectTagging } from "./actions/put-object-tagging.ts";
import { uploadPart } from "./actions/upload-part.ts";
import { uploadPartCopy } from "./actions/upload-part-copy.ts";
import { BUCKET_DEFAULTS } from "./bucket-defaults.ts";
import { CONFIG_ACTIONS } from "./configs/bucket-configs.ts";
import type { S3Action, S3Call } from "./s3-call.ts";
import { refusal } from "./s3-errors.ts";

export const S3_ACTIONS: readonly S3Action[] = [
  listBuckets,
  getBucketAcl,
  getBucketLocation,
  getBucketNotificationConfiguration,
  getBucketTagging,
  getBucketVersioning,
  ...BUCKET_DEFAULTS,
  ...CONFIG_ACTIONS,
  listMultipartUploads,
  listObjectVersions,
  listObjectsV2,
  listObjects,
  headBucket,
  putBucketNotificationConfiguration,
  putBucketTagging,
  putBucketVersioning,
  createBucket,
  deleteBucketTagging,
  deleteBucket,
  deleteObjects,
  getObjectAcl,
  getObjectTagging,
  listParts,
  getObject,
  headObject,
  putObjectTagging,
  uploadPartCopy,
  uploadPart,
  copyObject,
  putObject,
  createMultipartUpload,
  completeMultipartUpload,
  deleteObjectTagging,
  abortMultipartUpload,
  deleteObject,
];

/** Parameters that name a subresource of a bucket or an object. */
const SUBRESOURCES = new Set(
  (
    "accelerate acl analytics annotation annotations attributes cors delete encryption " +
    "intelligent-tiering inventory legal-hold lifecycle location logging metadataConfiguration " +
    "metadataInventoryTable metadataJournalTable metadataTable metrics notification object-lock " +
    "ownershipControls policy policyStatus publicAccessBlock renameObject replication " +
    "requestPayment restore retention select session tagging torrent uploads versioning " +
    "versions website abac"
  ).split(" "),
);

export function findAction(call: S3Call): Result<S3Action, S3Fault> {
  const at = call.bucket === "" ? "service" : call.key === "" ? "bucket" : "object";
  const { method, headers } = call.request;
  const match = S3_ACTIONS.find(
    (action) =>
      action.method === method &&
      action.at === at &&
      (action.query ?? []).every((name) => call.query.has(name)) &&
      (action.header === undefined || headers[action.header] !== undefined),
  );
  const unsupported = [...call.query.keys()].find(
    (name) => SUBRESOURCES.has(name) && match?.query?.includes(name) !== true,
  );
  if (unsupported !== undefined) return notSupported(); // R2
  if (match !== undefined) return succeed(match);
  return refusal("MethodNotAllowed", "The specified method is not allowed against this resource.", {
    Method: method,
    ResourceType: at.toUpperCase(),
  });
}

function notSupported(): S3Refusal {
  return refusal(
    "NotImplemented",
    "A header or query you provided implies functionality that is not implemented.",
  );
}
