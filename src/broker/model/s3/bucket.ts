// Bucket: its record, and how it is looked up and stored.
//   B1. A bucket's number is never reused, so leftovers of a deleted bucket cannot appear in a new
//       one of the same name.

import { type Result, succeed } from "../../../core/result.ts";
import type { EpochMs } from "../../../core/units.ts";
import type { BrokerState } from "../broker-state.ts";
import type { ModelStep } from "../step.ts";
import type { NotificationConfig } from "./notification-config.ts";
import { noSuchBucket, type S3Fault } from "./s3-fault.ts";

export type Versioning = "Enabled" | "Suspended" | null;

/** Settings that the model only stores; the wire gives them their meaning. */
export type BucketConfigName =
  | "accelerate"
  | "cors"
  | "encryption"
  | "lifecycle"
  | "logging"
  | "ownershipControls"
  | "policy"
  | "publicAccessBlock"
  | "requestPayment"
  | "website";

export interface BucketRecord {
  readonly number: number;
  readonly name: string;
  readonly region: string;
  readonly createdAt: EpochMs;
  readonly versioning: Versioning;
  readonly tags: Readonly<Record<string, string>> | null;
  readonly notification: NotificationConfig;
  /** The document of each setting; null: deleted by a client; absent: never set. */
  readonly configs?: Readonly<Partial<Record<BucketConfigName, string | null>>>;
}

export function bucketOf(state: BrokerState, name: string): Result<BucketRecord, S3Fault> {
  const bucket = state.buckets.get(name);
  return bucket === undefined ? noSuchBucket(name) : succeed(bucket);
}

export function saveBucket(state: BrokerState, step: ModelStep, bucket: BucketRecord): void {
  state.buckets.set(bucket.name, bucket);
  step.emit({
    kind: "put-document",
    document: { collection: "bucket", key: bucket.name, value: JSON.stringify(bucket) },
  });
}
