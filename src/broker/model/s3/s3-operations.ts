// S3 operations: every operation on buckets and objects, by name.
//   O1. An operation on a bucket is refused with an S3Fault, which has S3's own error codes.
//   O2. Bytes never pass through here. The wire stages them first, and an operation names the
//       blobs; `dropped` lists the blobs that are no longer needed once the response is out.

import type { Checksum, ChecksumAlgorithm, ChecksumType } from "../../../core/encoding/checksum.ts";
import type { EpochMs } from "../../../core/units.ts";
import type {
  Piece,
  StoredEntry,
  StoredObject,
  StoredPart,
  StoredUpload,
} from "../../../ports/broker/object-change.ts";
import type { BucketConfigName, BucketRecord, Versioning } from "./bucket.ts";
import type { NotificationConfig } from "./notification-config.ts";
import type { S3Fault } from "./s3-fault.ts";

/** The request that causes a change; its events and its reply describe it. */
export interface Origin {
  readonly requestId: string;
  readonly hostId: string;
  readonly sourceIp: string;
  /** Scheme and host that the client used, for links in notifications. */
  readonly url: string;
  readonly principalId: string;
  readonly ownerId: string;
  readonly eventVersion: string;
  /** Name of the queue that stands for EventBridge, or null. */
  readonly eventBridgeQueue: string | null;
  /** X-Amzn-Trace-Id of the request, which its events pass on; absent without tracing. */
  readonly traceHeader?: string | null;
}

export interface WriteConditions {
  /** The ETag that the object must have, "*" for any; null: no condition. */
  readonly ifMatch: string | null;
  /** The object must not exist. */
  readonly ifAbsent: boolean;
}

export interface PutObjectInput {
  readonly bucket: string;
  readonly key: string;
  readonly event: "Put" | "Post" | "Copy";
  readonly pieces: readonly Piece[];
  readonly etag: string;
  readonly storageClass: string;
  readonly detail: string;
  readonly conditions: WriteConditions;
  readonly origin: Origin;
}

export interface WrittenObject {
  /** Null if the bucket was never versioned. */
  readonly version: string | null;
  readonly etag: string;
  readonly modifiedAt: EpochMs;
  readonly dropped: readonly string[];
}

export interface ObjectView {
  readonly object: StoredObject;
  readonly version: string | null;
}

export interface DeleteEntry {
  readonly key: string;
  readonly version: string | null;
  readonly ifMatch: string | null;
}

export interface DeletedObject {
  readonly key: string;
  /** The version that the request names. */
  readonly version: string | null;
  /** The marker that was created or, if a version was named, deleted. */
  readonly marker: { readonly version: string } | null;
  readonly fault: S3Fault | null;
}

export interface ListInput {
  readonly bucket: string;
  readonly prefix: string;
  readonly delimiter: string;
  /** Only entries after it; empty for the first page. */
  readonly after: string;
  readonly limit: number;
}

export interface Listed<T> {
  readonly entries: readonly T[];
  readonly prefixes: readonly string[];
  /** Where the next page starts, or null if this is the last. */
  readonly next: string | null;
}

export interface ListedVersion extends StoredEntry {
  readonly latest: boolean;
}

/** What a client claims about a checksum, in base64. */
export interface ClaimedChecksum {
  readonly algorithm: ChecksumAlgorithm;
  readonly value: string;
}

export interface CompletePart {
  readonly number: number;
  readonly etag: string;
  readonly checksums: readonly ClaimedChecksum[];
}

interface InBucket {
  readonly bucket: string;
}

interface AtVersion extends InBucket {
  readonly key: string;
  readonly version: string | null;
}

interface InUpload extends InBucket {
  readonly key: string;
  readonly upload: string;
}

type Made<I, O> = { input: I; output: O };

export interface S3Operations {
  createBucket: Made<
    InBucket & {
      region: string;
      tags: Record<string, string> | null;
      configs?: BucketRecord["configs"];
    },
    null
  >;
  deleteBucket: Made<InBucket, { dropped: readonly string[] }>;
  findBucket: Made<InBucket, { bucket: BucketRecord }>;
  listBuckets: Made<
    { prefix: string; after: string; limit: number; region?: string | null },
    { buckets: readonly BucketRecord[]; next: string | null }
  >;
  setBucketVersioning: Made<InBucket & { versioning: Versioning }, null>;
  setBucketConfig: Made<InBucket & { name: BucketConfigName; document: string | null }, null>;
  setBucketTags: Made<InBucket & { tags: Record<string, string> | null }, null>;
  setBucketNotification: Made<
    InBucket & { config: NotificationConfig; validate: boolean; origin: Origin },
    null
  >;
  putObject: Made<PutObjectInput, WrittenObject>;
  findObject: Made<AtVersion, ObjectView>;
  deleteObjects: Made<
    InBucket & { entries: readonly DeleteEntry[]; origin: Origin },
    {
      results: readonly DeletedObject[];
      dropped: readonly string[];
      /** The errors of entries that the store could not read. */
      damage: readonly unknown[];
    }
  >;
  setObjectTags: Made<
    AtVersion & { tags: Readonly<Record<string, string>> | null; origin: Origin },
    { version: string | null }
  >;
  listObjects: Made<ListInput, Listed<StoredEntry>>;
  listObjectVersions: Made<
    ListInput & { afterVersion: string | null },
    Listed<ListedVersion> & { nextVersion: string | null }
  >;
  createUpload: Made<
    InBucket & { key: string; storageClass: string; detail: string },
    { id: string }
  >;
  findUpload: Made<InUpload, { upload: StoredUpload }>;
  putPart: Made<
    InUpload & { number: number; piece: Piece; etag: string; checksum: string },
    { dropped: readonly string[] }
  >;
  completeUpload: Made<
    InUpload & {
      parts: readonly CompletePart[];
      checksum: ClaimedChecksum | null;
      /** Null if the client does not claim one. */
      checksumType: ChecksumType | null;
      sizeBytes: number | null;
      conditions: WriteConditions;
      origin: Origin;
    },
    WrittenObject & { checksum: Checksum | null }
  >;
  abortUpload: Made<InUpload, { dropped: readonly string[] }>;
  listParts: Made<
    InUpload & { after: number; limit: number },
    { upload: StoredUpload; parts: readonly StoredPart[]; next: number | null }
  >;
  listUploads: Made<
    ListInput & { afterUpload: string },
    Listed<StoredUpload> & { nextUpload: string | null }
  >;
}

export type S3OperationName = keyof S3Operations;
export type S3Input<K extends S3OperationName> = S3Operations[K]["input"];
export type S3Value<K extends S3OperationName> = S3Operations[K]["output"];
