// ObjectDetail: what an object gives back besides its bytes. Stored as JSON, since the model looks
// at little of it.

import type { Checksum, ChecksumAlgorithm, ChecksumType } from "../../../core/encoding/checksum.ts";

export interface ObjectDetail {
  /** Headers as they were sent, by lower-case name: content-type, cache-control and their likes. */
  readonly headers: Readonly<Record<string, string>>;
  /** User metadata by lower-case name, without the prefix. */
  readonly metadata: Readonly<Record<string, string>>;
  readonly checksum: Checksum | null;
  readonly tags: Readonly<Record<string, string>>;
  /** The upload that it was completed from, so that completing again is answered again. */
  readonly upload?: string;
}

/** What an upload remembers for the object it will become. */
export interface UploadDetail extends ObjectDetail {
  readonly checksumAlgorithm: ChecksumAlgorithm;
  readonly checksumType: ChecksumType;
  /** Whether the client chose the algorithm; one that we chose is not asked for part by part. */
  readonly checksumChosen: boolean;
}

export function readDetail(text: string): ObjectDetail {
  return JSON.parse(text) as ObjectDetail;
}

export function readUploadDetail(text: string): UploadDetail {
  return JSON.parse(text) as UploadDetail;
}
