// ObjectChange: what must be remembered of objects in buckets, in the same vocabulary and in the
// same commits as everything else the broker remembers (see broker-change.ts).
//   J1. Of the versions of a key, the one with the highest `seq` is the current one.
//   J2. The blobs named by `put-blob` and not yet by `delete-blob` are all that may be needed; any
//       other file of bytes is garbage.

import type { EpochMs } from "./units.ts";

/** All of one version but where its bytes are. */
export interface StoredEntry {
  /** Number of the bucket. */
  readonly bucket: number;
  readonly key: string;
  /** Position among everything the broker has numbered; never reused. */
  readonly seq: number;
  /** "null" when it was written without versioning. */
  readonly version: string;
  /** A delete marker: it has no bytes, no ETag and no size. */
  readonly marker: boolean;
  readonly sizeBytes: number;
  readonly etag: string;
  readonly modifiedAt: EpochMs;
  readonly storageClass: string;
  /** JSON of what the wire gives back with the bytes: headers, metadata, checksum, tags. */
  readonly detail: string;
}

/** A run of bytes: a whole object or one part of it. */
export interface Piece {
  readonly blob: string;
  readonly sizeBytes: number;
}

export interface StoredObject extends StoredEntry {
  readonly pieces: readonly Piece[];
}

/** A multipart upload under way. */
export interface StoredUpload {
  readonly bucket: number;
  readonly key: string;
  readonly id: string;
  readonly startedAt: EpochMs;
  readonly storageClass: string;
  /** JSON, as the object will have it, and how its checksum is made. */
  readonly detail: string;
}

export interface StoredPart {
  readonly upload: string;
  readonly number: number;
  readonly blob: string;
  readonly sizeBytes: number;
  readonly etag: string;
  readonly checksum: string;
  readonly modifiedAt: EpochMs;
}

export type ObjectChange =
  | { readonly kind: "put-object"; readonly object: StoredObject }
  | {
      readonly kind: "delete-object";
      readonly bucket: number;
      readonly key: string;
      readonly seq: number;
    }
  | { readonly kind: "put-blob"; readonly blob: string }
  | { readonly kind: "delete-blob"; readonly blob: string }
  | { readonly kind: "put-upload"; readonly upload: StoredUpload }
  /** Forgets an upload and all of its parts. */
  | {
      readonly kind: "delete-upload";
      readonly bucket: number;
      readonly key: string;
      readonly id: string;
    }
  /** Replaces the part of that number, if there is one. */
  | { readonly kind: "put-part"; readonly part: StoredPart };

/** Where a listing begins: at the first key not before `key`, or after it. */
export interface KeyPosition {
  readonly key: string;
  readonly after: boolean;
}

/** What can be asked about objects. Everything that was committed is seen. */
export interface ObjectReads {
  /** The version with the highest seq below `before`. */
  newest(bucket: number, key: string, before: number): StoredObject | undefined;
  version(bucket: number, key: string, version: string): StoredObject | undefined;
  /** By key in UTF-8 order, newest version first. Read before anything else is asked. */
  entries(bucket: number, from: KeyPosition): Iterable<StoredEntry>;
  upload(bucket: number, key: string, id: string): StoredUpload | undefined;
  /** By key, then by id. */
  uploads(bucket: number, from: KeyPosition): Iterable<StoredUpload>;
  part(upload: string, number: number): StoredPart | undefined;
  /** In order of number, beginning after `after`. */
  parts(upload: string, after: number): Iterable<StoredPart>;
  hasBlob(blob: string): boolean;
}
