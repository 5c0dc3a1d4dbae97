// ObjectChange: the stored state of objects in buckets. It uses the same kind of changes, in the
// same commits, as everything else the broker stores (see broker-change.ts).
//   J1. Of the versions of a key, the one with the highest `seq` is the current one.
//   J2. Only blobs named by `put-blob`, and not yet by `delete-blob`, may be needed; any other blob
//       is garbage.

import type { EpochMs } from "../../core/units.ts";

/** One version, without the location of its bytes. */
export interface StoredEntry {
  /** Number of the bucket. */
  readonly bucket: number;
  readonly key: string;
  /** Position among everything the broker numbers; never reused. */
  readonly seq: number;
  /** "null" if it was written without versioning. */
  readonly version: string;
  /** A delete marker: it has no bytes, no ETag and no size. */
  readonly marker: boolean;
  readonly sizeBytes: number;
  readonly etag: string;
  readonly modifiedAt: EpochMs;
  readonly storageClass: string;
  /** JSON of what the wire returns with the bytes: headers, metadata, checksum, tags. */
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

/** A multipart upload in progress. */
export interface StoredUpload {
  readonly bucket: number;
  readonly key: string;
  readonly id: string;
  readonly startedAt: EpochMs;
  readonly storageClass: string;
  /** JSON of the future object's detail, and how its checksum is computed. */
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
  /** Deletes an upload and all its parts. */
  | {
      readonly kind: "delete-upload";
      readonly bucket: number;
      readonly key: string;
      readonly id: string;
    }
  /** Replaces the part of that number, if there is one. */
  | { readonly kind: "put-part"; readonly part: StoredPart };

/** Where a listing starts: at the first key not before `key`, or after it. */
export interface KeyPosition {
  readonly key: string;
  readonly after: boolean;
}

/** Reads of objects. They see everything that was committed. */
export interface ObjectReads {
  /** The version with the highest seq below `before`. */
  newest(bucket: number, key: string, before: number): StoredObject | undefined;
  version(bucket: number, key: string, version: string): StoredObject | undefined;
  /** By key in UTF-8 order, newest version first. Must be consumed before the next read. */
  entries(bucket: number, from: KeyPosition): Iterable<StoredEntry>;
  upload(bucket: number, key: string, id: string): StoredUpload | undefined;
  /** By key, then by id. */
  uploads(bucket: number, from: KeyPosition): Iterable<StoredUpload>;
  part(upload: string, number: number): StoredPart | undefined;
  /** In order of number, starting after `after`. */
  parts(upload: string, after: number): Iterable<StoredPart>;
  hasBlob(blob: string): boolean;
}
