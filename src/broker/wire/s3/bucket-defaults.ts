// Bucket defaults: bucket settings that cannot be changed here. They are returned as S3 returns
// them for a new bucket, because tools that manage whole buckets read all of them.

import type { S3Code } from "../../model/s3/s3-fault.ts";
import { ask, type S3Action } from "./s3-call.ts";
import { denied, refusal } from "./s3-errors.ts";
import { element, textElement, xmlReply } from "./xml-output.ts";

/** A setting with a default value. */
function fixed(name: string, parameter: string, root: string, content: string): S3Action {
  return {
    name,
    method: "GET",
    at: "bucket",
    query: [parameter],
    async run(call) {
      const lookup = await ask(call, "findBucket", { bucket: call.bucket });
      return lookup.ok ? xmlReply(root, content) : denied(call, lookup.fault);
    },
  };
}

/** A setting that is not configured by default. */
function absent(name: string, parameter: string, code: S3Code, message: string): S3Action {
  return {
    name,
    method: "GET",
    at: "bucket",
    query: [parameter],
    async run(call) {
      const lookup = await ask(call, "findBucket", { bucket: call.bucket });
      if (!lookup.ok) return denied(call, lookup.fault);
      return denied(call, refusal(code, message, { BucketName: call.bucket }).fault);
    },
  };
}

const ENCRYPTION = element(
  "Rule",
  element("ApplyServerSideEncryptionByDefault", textElement("SSEAlgorithm", "AES256")),
  textElement("BucketKeyEnabled", false),
);
const OWNERSHIP = element("Rule", textElement("ObjectOwnership", "BucketOwnerEnforced"));

export const BUCKET_DEFAULTS: readonly S3Action[] = [
  fixed("GetBucketAccelerateConfiguration", "accelerate", "AccelerateConfiguration", ""),
  fixed("GetBucketEncryption", "encryption", "ServerSideEncryptionConfiguration", ENCRYPTION),
  fixed("GetBucketLogging", "logging", "BucketLoggingStatus", ""),
  fixed("GetBucketOwnershipControls", "ownershipControls", "OwnershipControls", OWNERSHIP),
  fixed(
    "GetBucketRequestPayment",
    "requestPayment",
    "RequestPaymentConfiguration",
    textElement("Payer", "BucketOwner"),
  ),
  absent(
    "GetBucketCors",
    "cors",
    "NoSuchCORSConfiguration",
    "The CORS configuration does not exist",
  ),
  absent(
    "GetBucketLifecycleConfiguration",
    "lifecycle",
    "NoSuchLifecycleConfiguration",
    "The lifecycle configuration does not exist",
  ),
  absent("GetBucketPolicy", "policy", "NoSuchBucketPolicy", "The bucket policy does not exist"),
  absent(
    "GetBucketReplication",
    "replication",
    "ReplicationConfigurationNotFoundError",
    "The replication configuration was not found",
  ),
  absent(
    "GetBucketWebsite",
    "website",
    "NoSuchWebsiteConfiguration",
    "The specified bucket does not have a website configuration",
  ),
  absent(
    "GetObjectLockConfiguration",
    "object-lock",
    "ObjectLockConfigurationNotFoundError",
    "Object Lock configuration does not exist for this bucket",
  ),
  absent(
    "GetPublicAccessBlock",
    "publicAccessBlock",
    "NoSuchPublicAccessBlockConfiguration",
    "The public access block configuration was not found",
  ),
];
