// ObjectDetail: what an object returns apart from its bytes. It is stored as JSON, because the
// model reads little of it.

import type { Checksum, ChecksumAlgorithm, ChecksumType } from "../../../core/encoding/checksum.ts";

export interface ObjectDetail {
  /** Headers as sent, by lower-case name: content-type, cache-control and others. */
  readonly headers: Readonly<Record<string, string>>;
  /** User metadata by lower-case name, without the prefix. */
  readonly metadata: Readonly<Record<string, string>>;
  readonly checksum: Checksum | null;
  readonly tags: Readonly<Record<string, string>>;
  /** The upload that created it, so that a repeated completion gets the same answer. */
  readonly upload?: string;
}

/** What an upload stores for its object. */
export interface UploadDetail extends ObjectDetail {
  readonly checksumAlgorithm: ChecksumAlgorithm;
  readonly checksumType: ChecksumType;
  /** Whether the client chose the algorithm; for one that we chose, parts need no checksum. */
  readonly checksumChosen: boolean;
  /** Number of the version that was current when the upload began; null: none; absent: unknown. */
  readonly currentSeq?: number | null;
}

export function readDetail(text: string): ObjectDetail {
  return JSON.parse(text) as ObjectDetail;
}

export function readUploadDetail(text: string): UploadDetail {
  return JSON.parse(text) as UploadDetail;
}
