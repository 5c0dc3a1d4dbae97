// BlobStore: the bytes of objects, under generated ids.
//   L1. The store generates the id of a blob. No client input is ever part of a name, so no key can
//       reach anything else on the disk.
//   L2. A published blob is durable, complete and never changes. An unpublished one is gone after a
//       crash, and after `discard`.
//   L3. Memory use does not grow with the size of a blob, neither for writes nor for reads.
//   L4. A blob that is being read is not removed: removal waits for its readers, and for those that
//       start in the same turn, since a blob may be announced and become garbage in one batch.
//   L5. A chunk that `read` yields is valid until the next one is requested. A chunk passed to
//       `stage` belongs to the store, which may free its memory immediately.

import type { Piece } from "./object-change.ts";

export interface StagedBlob {
  readonly id: string;
  readonly sizeBytes: number;
  /** Resolves once the bytes are durable under `id`. */
  publish(): Promise<void>;
  /** Deletes the bytes, published or not. */
  discard(): Promise<void>;
  /**
   * Reports that the broker has committed a reference to the blob; until then every sweep spares
   * it.
   */
  keep(): void;
}

export interface ByteRange {
  readonly from: number;
  /** The last byte, inclusive. */
  readonly through: number;
}

export interface BlobStore {
  /**
   * Reads all of `chunks` and owns them (L5). If they fail, it rejects and leaves nothing behind.
   */
  stage(chunks: AsyncIterable<Uint8Array>): Promise<StagedBlob>;
  /** The bytes of `pieces`, concatenated; `range` counts over all of them (L5). */
  read(pieces: readonly Piece[], range: ByteRange): AsyncIterable<Uint8Array>;
  /** Does not wait: the next sweep removes a blob that cannot be removed now. */
  remove(blobs: readonly string[]): void;
  /** Removes leftovers of a crash: every blob for which `isReferenced` returns false. */
  sweep(isReferenced: (blob: string) => boolean): Promise<void>;
  /** Resolves when all removals have finished. */
  close(): Promise<void>;
}
