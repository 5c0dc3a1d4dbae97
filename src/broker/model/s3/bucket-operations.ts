// Bucket operations: create, change, list and delete buckets.
//   K1. A bucket can be deleted only when it is empty: no version, no delete marker. Unfinished
//       uploads are deleted with it.

import { type Result, succeed } from "../../../core/result.ts";
import type { BrokerState } from "../broker-state.ts";
import type { ModelStep } from "../step.ts";
import { type BucketRecord, bucketOf, saveBucket } from "./bucket.ts";
import { isBucketName } from "./bucket-name.ts";
import { checkConfig, NO_NOTIFICATION } from "./notification-config.ts";
import { sendTestEvents } from "./notify.ts";
import { type S3Fault, s3Refuse } from "./s3-fault.ts";
import type { S3Input, S3Value } from "./s3-operations.ts";
import { dropUpload } from "./upload-operations.ts";

/** In its first region, S3 accepts a second creation of the same bucket. */
const FIRST_REGION = "us-east-1";

export function stepCreateBucket(
  state: BrokerState,
  step: ModelStep,
  input: S3Input<"createBucket">,
): Result<null, S3Fault> {
  const { bucket: name, region, tags, configs = {} } = input;
  if (!isBucketName(name)) {
    return s3Refuse("InvalidBucketName", "The specified bucket is not valid.", {
      BucketName: name,
    });
  }
  const existing = state.buckets.get(name);
  if (existing !== undefined) {
    if (existing.region === FIRST_REGION && region === FIRST_REGION) return succeed(null);
    return s3Refuse(
      "BucketAlreadyOwnedByYou",
      "Your previous request to create the named bucket succeeded and you already own it.",
      { BucketName: name },
    );
  }
  saveBucket(state, step, {
    number: state.nextSeq(),
    name,
    region,
    createdAt: step.now,
    versioning: null,
    tags,
    notification: NO_NOTIFICATION,
    ...(Object.keys(configs).length === 0 ? {} : { configs }),
  });
  return succeed(null);
}

export function stepDeleteBucket(
  state: BrokerState,
  step: ModelStep,
  input: S3Input<"deleteBucket">,
): Result<S3Value<"deleteBucket">, S3Fault> {
  const bucketResult = bucketOf(state, input.bucket);
  if (!bucketResult.ok) return bucketResult;
  const bucket = bucketResult.value;
  const beginning = { key: "", after: false };
  for (const _entry of step.objects.entries(bucket.number, beginning)) {
    const message = "The bucket you tried to delete is not empty";
    return s3Refuse("BucketNotEmpty", message, { BucketName: bucket.name }); // K1
  }
  const uploads = [...step.objects.uploads(bucket.number, beginning)];
  const parts = uploads.map((upload) => [...step.objects.parts(upload.id, 0)]);
  const dropped = uploads.flatMap((upload, index) => dropUpload(step, upload, parts[index] ?? []));
  state.buckets.delete(bucket.name);
  step.emit({ kind: "delete-document", collection: "bucket", key: bucket.name });
  return succeed({ dropped });
}

export function findBucket(
  state: BrokerState,
  _step: ModelStep,
  input: S3Input<"findBucket">,
): Result<S3Value<"findBucket">, S3Fault> {
  const bucket = bucketOf(state, input.bucket);
  return bucket.ok ? succeed({ bucket: bucket.value }) : bucket;
}

export function stepListBuckets(
  state: BrokerState,
  _step: ModelStep,
  { prefix, after, limit, region = null }: S3Input<"listBuckets">,
): Result<S3Value<"listBuckets">, S3Fault> {
  const names = [...state.buckets.values()]
    .filter((bucket) => region === null || bucket.region === region)
    .map(({ name }) => name)
    .filter((name) => name.startsWith(prefix) && name > after)
    .sort();
  const page = names.slice(0, limit);
  const next = names.length > limit ? (page.at(-1) ?? null) : null;
  return succeed({ buckets: page.map((name) => state.buckets.get(name) as BucketRecord), next });
}

export function setBucketVersioning(
  state: BrokerState,
  step: ModelStep,
  { bucket: name, versioning }: S3Input<"setBucketVersioning">,
): Result<null, S3Fault> {
  return change(state, step, name, (bucket) => ({ ...bucket, versioning }));
}

export function setBucketTags(
  state: BrokerState,
  step: ModelStep,
  { bucket: name, tags }: S3Input<"setBucketTags">,
): Result<null, S3Fault> {
  return change(state, step, name, (bucket) => ({ ...bucket, tags }));
}

export function setBucketConfig(
  state: BrokerState,
  step: ModelStep,
  { bucket: name, name: config, document }: S3Input<"setBucketConfig">,
): Result<null, S3Fault> {
  return change(state, step, name, (bucket) => ({
    ...bucket,
    configs: { ...bucket.configs, [config]: document },
  }));
}

export function setBucketNotification(
  state: BrokerState,
  step: ModelStep,
  input: S3Input<"setBucketNotification">,
): Result<null, S3Fault> {
  const bucketResult = bucketOf(state, input.bucket);
  if (!bucketResult.ok) return bucketResult;
  const bucket = bucketResult.value;
  const { config, validate, origin } = input;
  const refused = checkConfig(state, bucket.name, config, validate);
  if (refused !== null) return refused;
  const named = { ...config, targets: config.targets.map((each) => withId(step, each)) };
  saveBucket(state, step, { ...bucket, notification: named });
  const previousArns = new Set(bucket.notification.targets.map(({ arn }) => arn));
  const fresh = new Map(
    named.targets.filter(({ arn }) => !previousArns.has(arn)).map((t) => [t.arn, t]),
  );
  if (validate) sendTestEvents(state, step, bucket, origin, [...fresh.values()]);
  return succeed(null);
}

function withId<T extends { readonly id: string }>(step: ModelStep, target: T): T {
  return target.id === "" ? { ...target, id: step.newId() } : target;
}

function change(
  state: BrokerState,
  step: ModelStep,
  name: string,
  changed: (bucket: BucketRecord) => BucketRecord,
): Result<null, S3Fault> {
  const bucketResult = bucketOf(state, name);
  if (!bucketResult.ok) return bucketResult;
  const bucket = bucketResult.value;
  saveBucket(state, step, changed(bucket));
  return succeed(null);
}
