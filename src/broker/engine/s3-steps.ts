// S3 steps: the model function of each operation on buckets and objects.

import type { Result } from "../../core/result.ts";
import type { BrokerState } from "../model/broker-state.ts";
import {
  findBucket,
  setBucketConfig,
  setBucketNotification,
  setBucketTags,
  setBucketVersioning,
  stepCreateBucket,
  stepDeleteBucket,
  stepListBuckets,
} from "../model/s3/bucket-operations.ts";
import { stepListObjects, stepListObjectVersions } from "../model/s3/object-listing.ts";
import {
  findObject,
  setObjectTags,
  stepDeleteObjects,
  stepPutObject,
} from "../model/s3/object-operations.ts";
import type { S3Fault } from "../model/s3/s3-fault.ts";
import type { S3OperationName, S3Operations } from "../model/s3/s3-operations.ts";
import {
  abortUpload,
  completeUpload,
  createUpload,
  findUpload,
  listUploads,
  putPart,
  stepListParts,
} from "../model/s3/upload-operations.ts";
import type { ModelStep } from "../model/step.ts";

type S3StepOf<K extends S3OperationName> = (
  state: BrokerState,
  step: ModelStep,
  input: S3Operations[K]["input"],
) => Result<S3Operations[K]["output"], S3Fault>;

/** Operations that list rows, and therefore read only the store (W6 of engine.ts). */
export const LISTING_OPERATIONS: ReadonlySet<string> = new Set<S3OperationName>([
  "deleteBucket",
  "listObjects",
  "listObjectVersions",
  "completeUpload",
  "abortUpload",
  "listParts",
  "listUploads",
]);

export const S3_STEPS: { readonly [K in S3OperationName]: S3StepOf<K> } = {
  createBucket: stepCreateBucket,
  deleteBucket: stepDeleteBucket,
  findBucket,
  listBuckets: stepListBuckets,
  setBucketVersioning,
  setBucketConfig,
  setBucketTags,
  setBucketNotification,
  putObject: stepPutObject,
  findObject,
  deleteObjects: stepDeleteObjects,
  setObjectTags,
  listObjects: stepListObjects,
  listObjectVersions: stepListObjectVersions,
  createUpload,
  findUpload,
  putPart,
  completeUpload,
  abortUpload,
  listParts: stepListParts,
  listUploads,
};
