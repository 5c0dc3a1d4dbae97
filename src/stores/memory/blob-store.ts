// Memory blob store: blobs in memory, for --memory and for tests. Memory use grows with the blobs,
// as there is no other place for them.

import { present } from "../../core/assert.ts";
import type { BlobStore, ByteRange, StagedBlob } from "../../ports/broker/blob-store.ts";
import type { Piece } from "../../ports/broker/object-change.ts";

export function createMemoryBlobStore(): BlobStore {
  const blobs = new Map<string, Uint8Array>();
  let made = 0;
  return {
    async stage(chunks): Promise<StagedBlob> {
      const received: Uint8Array[] = [];
      for await (const chunk of chunks) received.push(chunk);
      made += 1;
      const id = made.toString(16).padStart(32, "0");
      const bytes = Buffer.concat(received);
      return {
        id,
        sizeBytes: bytes.length,
        publish: async () => void blobs.set(id, bytes),
        discard: async () => void blobs.delete(id),
        keep: () => {},
      };
    },
    read(pieces, range) {
      // Referenced immediately, so that a removal in the meantime does not affect this read (L4).
      const contents = pieces.map(({ blob }) => present(blobs.get(blob), `blob ${blob}`));
      return readContents(contents, pieces, range);
    },
    remove(ids) {
      // A request that learned of a blob in this turn has started to read it by the next (L4).
      setImmediate(() => {
        for (const id of ids) blobs.delete(id);
      });
    },
    async sweep(isKept) {
      for (const id of blobs.keys()) if (!isKept(id)) blobs.delete(id);
    },
    async close() {},
  };
}

async function* readContents(
  contents: readonly Uint8Array[],
  pieces: readonly Piece[],
  range: ByteRange,
): AsyncGenerator<Uint8Array> {
  let start = 0;
  for (const [index, { sizeBytes }] of pieces.entries()) {
    const from = Math.max(range.from - start, 0);
    const end = Math.min(range.through - start, sizeBytes - 1) + 1;
    if (from < end) yield present(contents[index], "blob").subarray(from, end);
    start += sizeBytes;
  }
}
