// ObjectSource: the objects that events tell of, read as they were when the event was written.
//   O1. A read is pinned: to the version if there is one, else to the ETag. Other bytes are never
//       handed out in their place; ranges and re-reads are pinned in the same way.
//   O2. What is expected to happen to objects is an answer. S3 answers 403 for a missing object to
//       whoever may not list the bucket, so "forbidden" may mean missing; only a caller can judge.
//   O3. Everything else fails with TG_OBJECTS_UNAVAILABLE, and asking again is safe.

import type { EpochMs } from "../core/units.ts";
import type { ByteSource } from "./rows.ts";

export interface ObjectPin {
  readonly bucket: string;
  readonly key: string;
  readonly versionId: string | null;
  /** Without quotes; null reads whatever is there. */
  readonly etag: string | null;
}

export type OpenedObject =
  | {
      readonly kind: "opened";
      readonly bytes: ByteSource;
      readonly etag: string | null;
      readonly lastModified: EpochMs | null;
    }
  /** Never there, deleted since, or a delete marker. */
  | { readonly kind: "missing" }
  /** Other bytes lie under the key now, and the event's own are not kept. */
  | { readonly kind: "replaced" }
  | { readonly kind: "forbidden"; readonly reason: string };

export interface ObjectSource {
  open(pin: ObjectPin, signal: AbortSignal): Promise<OpenedObject>;
}
