// ObjectSource: reads the objects that events refer to, as they were when the event was written.
//   O1. A read is pinned to the version if there is one, else to the ETag. It never returns other
//       bytes instead; ranges and repeated reads are pinned in the same way.
//   O2. Expected states of an object are results, not errors. S3 answers 403 for a missing object
//       to callers that may not list the bucket, so "forbidden" may mean missing; only the caller
//       can judge.
//   O3. Everything else fails with TG_OBJECTS_UNAVAILABLE, and repeating the call is safe.
//   O4. A source may read a small object with its opening, if the pin says that it is small: that
//       is one request instead of two. The bytes are then in memory, and pinned by that.

import type { Checksum } from "../../core/encoding/checksum.ts";
import type { EpochMs } from "../../core/units.ts";
import type { ByteSource } from "../rows.ts";

export interface ObjectPin {
  readonly bucket: string;
  readonly key: string;
  readonly versionId: string | null;
  /** Without quotes; null reads the current bytes. */
  readonly etag: string | null;
  /** Set if the bytes will probably be read, and the event says how many there are (O4). */
  readonly expectedBytes?: number | null;
}

export type OpenedObject =
  | {
      readonly kind: "opened";
      readonly bytes: ByteSource;
      /** How many bytes are in memory, if the opening has read them (O4). */
      readonly bufferedBytes?: number;
      readonly etag: string | null;
      /** The version that was opened; null if the bucket has no versions. */
      readonly versionId: string | null;
      readonly lastModified: EpochMs | null;
      /** The checksum that the service stores with the object; null or absent without one. */
      readonly checksum?: Checksum | null;
      /** The object's own metadata, without the prefix `x-amz-meta-`. */
      readonly metadata: Readonly<Record<string, string>>;
      /** The tags that the object has now: S3 changes them without a new version. */
      tags(): Promise<Readonly<Record<string, string>>>;
    }
  /** Never existed, was deleted, or is a delete marker. */
  | { readonly kind: "missing" }
  /** The key has other bytes now, and the event's version was not kept. */
  | { readonly kind: "replaced" }
  | { readonly kind: "forbidden"; readonly reason: string };

/** Reads the version of an object that an event names, and no other. */
export interface ObjectSource {
  /** Objects up to this size are read with their opening; absent: none (O4). */
  readonly bufferedBytesMax?: number;
  open(pin: ObjectPin, signal: AbortSignal): Promise<OpenedObject>;
}
