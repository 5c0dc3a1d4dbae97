// S3 operations: everything that can be asked of buckets and objects, by name.
//   O1. An operation on a bucket is refused with an S3Fault, which has S3's own error codes.
//   O2. Bytes never pass through here. The wire stages them first, and an operation names the
//       blobs; `dropped` names those that nobody needs any more once the answer is out.

import type { Checksum } from "../../../core/encoding/checksum.ts";
import type {
  Piece,
  StoredEntry,
  StoredObject,
  StoredPart,
  StoredUpload,
} from "../../../core/object-change.ts";
import type { EpochMs } from "../../../core/units.ts";
import type { BucketRecord, Versioning } from "./bucket.ts";
import type { NotificationConfig } from "./notification-config.ts";
import type { S3Fault } from "./s3-fault.ts";

/** Whose request it is: events tell, and so does the reply. */
export interface Origin {
  readonly requestId: string;
  readonly hostId: string;
  readonly sourceIp: string;
  /** Scheme and host that the client used, for links in what topics send. */
  readonly url: string;
  readonly principalId: string;
  readonly ownerId: string;
  readonly eventVersion: string;
  /** Name of the queue that stands for EventBridge, if there is one. */
  readonly eventBridgeQueue: string | null;
  /** X-Amzn-Trace-Id of the request, which its events carry on; absent where nobody traces. */
  readonly traceHeader?: string | null;
}

export interface WriteConditions {
  /** The ETag that the object must have, "*" for any; null: no matter. */
  readonly ifMatch: string | null;
  /** There must be no object yet. */
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
  /** Null where the bucket was never versioned. */
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
  /** The version that was asked for. */
  readonly version: string | null;
  /** The marker that was made or, if a version was named, was deleted. */
  readonly marker: { readonly version: string } | null;
  readonly fault: S3Fault | null;
}

export interface ListInput {
  readonly bucket: string;
  readonly prefix: string;
  readonly delimiter: string;
  /** Only what comes after it; empty for the beginning. */
  readonly after: string;
  readonly limit: number;
}

export interface Listed<T> {
  readonly entries: readonly T[];
  readonly prefixes: readonly string[];
  /** Where the next page goes on, or null when this was the last. */
  readonly next: string | null;
}

export interface ListedVersion extends StoredEntry {
  readonly latest: boolean;
}

export interface CompletePart {
  readonly number: number;
  readonly etag: string;
  /** As base64; null when the client did not say. */
  readonly checksum: string | null;
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
  createBucket: Made<InBucket & { region: string; tags: Record<string, string> | null }, null>;
  deleteBucket: Made<InBucket, { dropped: readonly string[] }>;
  findBucket: Made<InBucket, { bucket: BucketRecord }>;
  listBuckets: Made<
    { prefix: string; after: string; limit: number },
    { buckets: readonly BucketRecord[]; next: string | null }
  >;
  setBucketVersioning: Made<InBucket & { versioning: Versioning }, null>;
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
      /** What the store says of entries that it could not read. */
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
      checksum: string | null;
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
