// BlobStore: the bytes of objects, by names of our own.
//   L1. A blob is named by an id that the store makes up. Nothing a client sends is ever part of a
//       name, so that no key can reach anything else on the disk.
//   L2. A published blob is durable, whole and never changes. One that is not published is gone
//       after a crash, and after `discard`.
//   L3. Memory does not grow with the size of a blob, neither in nor out.
//   L4. What is being read is not taken away: removing waits for its readers, and for those who
//       begin in the same turn, since a blob may be told of and become needless in one batch.
//   L5. A chunk that `read` gives is good until the next one is asked for. A chunk that `stage` takes
//       is the store's: its memory may be given back at once.

import type { Piece } from "../core/object-change.ts";

export interface StagedBlob {
  readonly id: string;
  readonly sizeBytes: number;
  /** Resolves once the bytes are durable under `id`. */
  publish(): Promise<void>;
  /** Takes the bytes away again, published or not. */
  discard(): Promise<void>;
  /** Says that the blob is remembered by the broker; until then no sweep takes it for garbage. */
  settle(): void;
}

export interface ByteRange {
  readonly from: number;
  /** The last byte, included. */
  readonly through: number;
}

export interface BlobStore {
  /** Takes in all of `chunks`, for good (L5); when they fail, so does this, and nothing is left. */
  stage(chunks: AsyncIterable<Uint8Array>): Promise<StagedBlob>;
  /** The bytes of `pieces`, one after the other; `range` counts over all of them. L5 */
  read(pieces: readonly Piece[], range: ByteRange): AsyncIterable<Uint8Array>;
  /** Does not wait: a blob that cannot be removed now is garbage for the next sweep. */
  remove(blobs: readonly string[]): void;
  /** Removes what a crash left behind: every blob that `isKept` does not know. */
  sweep(isKept: (blob: string) => boolean): Promise<void>;
  /** Resolves when nothing is being removed any more. */
  close(): Promise<void>;
}
