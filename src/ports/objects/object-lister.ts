// ObjectLister: the objects of a bucket, page by page.
//   L1. Keys come in the order of their UTF-8 bytes, and the versions of a key newest first. An
//       object that exists all the time is neither skipped nor listed twice.
//   L2. A list fails with TG_OBJECTS_UNAVAILABLE; repeating it is safe.

import type { EpochMs } from "../../core/units.ts";

export interface ListedObject {
  readonly key: string;
  /** Null in a bucket without versions. */
  readonly versionId: string | null;
  /** Without quotes. */
  readonly etag: string;
  readonly size: number;
  readonly lastModified: EpochMs;
  readonly isLatest: boolean;
}

export interface ListedPage {
  /** Delete markers are left out. */
  readonly objects: readonly ListedObject[];
  /** Null after the last page. */
  readonly next: string | null;
}

export interface ListRequest {
  readonly bucket: string;
  readonly prefix: string;
  /** `next` of the previous page; null for the first page. */
  readonly after: string | null;
}

export interface ObjectLister {
  list(request: ListRequest, signal: AbortSignal): Promise<ListedPage>;
}
