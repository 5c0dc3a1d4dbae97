// S3 steps: which function of the model answers which operation on buckets and objects.

import type { BrokerState } from "../model/broker-state.ts";
import { type Outcome, succeed } from "../model/fault.ts";
import {
  findBucket,
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
import type { S3Outcome } from "../model/s3/s3-fault.ts";
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
) => Outcome<S3Operations[K]["output"]>;

/** Operations that read many rows, and so only what is committed. */
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
  createBucket: answered(stepCreateBucket),
  deleteBucket: answered(stepDeleteBucket),
  findBucket: answered(findBucket),
  listBuckets: answered(stepListBuckets),
  setBucketVersioning: answered(setBucketVersioning),
  setBucketTags: answered(setBucketTags),
  setBucketNotification: answered(setBucketNotification),
  putObject: answered(stepPutObject),
  findObject: answered(findObject),
  deleteObjects: answered(stepDeleteObjects),
  setObjectTags: answered(setObjectTags),
  listObjects: answered(stepListObjects),
  listObjectVersions: answered(stepListObjectVersions),
  createUpload: answered(createUpload),
  findUpload: answered(findUpload),
  putPart: answered(putPart),
  completeUpload: answered(completeUpload),
  abortUpload: answered(abortUpload),
  listParts: answered(stepListParts),
  listUploads: answered(listUploads),
};

/** To the engine every answer is one; that it may be a refusal of S3 is between model and wire. */
function answered<I, T>(
  step: (state: BrokerState, step: ModelStep, input: I) => S3Outcome<T>,
): (state: BrokerState, at: ModelStep, input: I) => Outcome<S3Outcome<T>> {
  return (state, at, input) => succeed(step(state, at, input));
}
