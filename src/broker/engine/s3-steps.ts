// S3 steps: which function of the model answers which operation on buckets and objects.

import type { BrokerState } from "../model/broker-state.ts";
import { done, type Outcome } from "../model/fault.ts";
import {
  createBucket,
  deleteBucket,
  findBucket,
  listBuckets,
  setBucketNotification,
  setBucketTags,
  setBucketVersioning,
} from "../model/s3/bucket-operations.ts";
import { listObjects, listObjectVersions } from "../model/s3/object-listing.ts";
import {
  deleteObjects,
  findObject,
  putObject,
  setObjectTags,
} from "../model/s3/object-operations.ts";
import type { S3Outcome } from "../model/s3/s3-fault.ts";
import type { S3OperationName, S3Operations } from "../model/s3/s3-operations.ts";
import {
  abortUpload,
  completeUpload,
  createUpload,
  findUpload,
  listParts,
  listUploads,
  putPart,
} from "../model/s3/upload-operations.ts";
import type { Step } from "../model/step.ts";

type S3StepOf<K extends S3OperationName> = (
  state: BrokerState,
  step: Step,
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
  createBucket: answered(createBucket),
  deleteBucket: answered(deleteBucket),
  findBucket: answered(findBucket),
  listBuckets: answered(listBuckets),
  setBucketVersioning: answered(setBucketVersioning),
  setBucketTags: answered(setBucketTags),
  setBucketNotification: answered(setBucketNotification),
  putObject: answered(putObject),
  findObject: answered(findObject),
  deleteObjects: answered(deleteObjects),
  setObjectTags: answered(setObjectTags),
  listObjects: answered(listObjects),
  listObjectVersions: answered(listObjectVersions),
  createUpload: answered(createUpload),
  findUpload: answered(findUpload),
  putPart: answered(putPart),
  completeUpload: answered(completeUpload),
  abortUpload: answered(abortUpload),
  listParts: answered(listParts),
  listUploads: answered(listUploads),
};

/** To the engine every answer is one; that it may be a refusal of S3 is between model and wire. */
function answered<I, T>(
  step: (state: BrokerState, step: Step, input: I) => S3Outcome<T>,
): (state: BrokerState, at: Step, input: I) => Outcome<S3Outcome<T>> {
  return (state, at, input) => done(step(state, at, input));
}
