// Expand: decompresses gzip and zstd, as a stream.
//   X1. Compression is detected by the first bytes, never by a suffix.
//   X2. Every member of a gzip file and every frame of a zstd file is read. Node's decoder stops
//       silently after a zstd frame that ends inside a chunk, and at padding between gzip members.
//       Here, the next decoder reads the remaining bytes, or they are rejected.
//   X3. Data that ends too early is rejected, and so is data that exceeds the limit.
//   X4. A chunk is fed only after all output of the previous one is taken, so that a decompression
//       bomb does not fill the memory.

import * as zlib from "node:zlib";
import { reasonOf } from "../core/errors.ts";
import type { ByteCursor } from "./byte-cursor.ts";
import { CHUNK_BYTES_MAX, describeBytes } from "./row-limits.ts";
import { unreadable } from "./unreadable.ts";

export type Compression = "gzip" | "zstd";

/** Bytes needed to detect a compression. */
export const MAGIC_BYTES = 4;

/** X1: null for bytes without a supported compression. */
export function compressionOf(head: Uint8Array): Compression | null {
  if (head[0] === 0x1f && head[1] === 0x8b) return "gzip";
  const rest = head[1] === 0xb5 && head[2] === 0x2f && head[3] === 0xfd;
  if (head[0] === 0x28 && rest) return "zstd";
  // A skippable frame, which some writers put in front (0x184D2A50 to 0x184D2A5F).
  const skippable = head[1] === 0x2a && head[2] === 0x4d && head[3] === 0x18;
  return skippable && ((head[0] ?? 0) & 0xf0) === 0x50 ? "zstd" : null;
}

/** The decompressed bytes; `name` is for messages. */
export async function* expand(
  input: ByteCursor,
  compression: Compression,
  name: string,
): AsyncGenerator<Uint8Array> {
  do {
    yield* expandOnce(input, createDecoder(compression, name), compression, name);
  } while (await hasNextMember(input, compression, name)); // X2
}

/** The same bytes, up to the limit (X3). */
export async function* limitBytes(
  chunks: AsyncIterable<Uint8Array>,
  bytesMax: number,
  name: string,
): AsyncGenerator<Uint8Array> {
  let total = 0;
  for await (const chunk of chunks) {
    total += chunk.length;
    if (total > bytesMax) {
      throw unreadable(name, `has more than ${describeBytes(bytesMax)} when expanded`);
    }
    yield chunk;
  }
}

type Decoder = zlib.Gunzip | zlib.ZstdDecompress;

function createDecoder(compression: Compression, name: string): Decoder {
  if (compression === "gzip") return zlib.createGunzip({ chunkSize: CHUNK_BYTES_MAX });
  if (typeof zlib.createZstdDecompress !== "function") {
    throw unreadable(name, "is compressed with zstd, which needs Node 22.15 or later");
  }
  return zlib.createZstdDecompress({ chunkSize: CHUNK_BYTES_MAX });
}

async function* expandOnce(
  input: ByteCursor,
  decoder: Decoder,
  compression: Compression,
  name: string,
): AsyncGenerator<Uint8Array> {
  let sourceFailure: { readonly error: unknown } | null = null;
  const feeding = feed(input, decoder).catch((error: unknown) => {
    sourceFailure = { error };
    decoder.destroy();
  });
  try {
    for await (const chunk of decoder) yield chunk as Uint8Array;
  } catch (error) {
    await feeding;
    rethrow(sourceFailure);
    const reason = `its ${compression} data cannot be expanded (${reasonOf(error)})`;
    throw unreadable(name, reason, { cause: error });
  } finally {
    // On a break the feeder may wait for the source, which only the caller can close.
    decoder.destroy();
  }
  await feeding;
  rethrow(sourceFailure);
}

function rethrow(failure: { readonly error: unknown } | null): void {
  if (failure !== null) throw failure.error;
}

/** Feeds chunks to the decoder one by one (X4), until the input or the decoder ends. */
async function feed(input: ByteCursor, decoder: Decoder): Promise<void> {
  let release = () => {};
  decoder.once("close", () => release()); // A failed decoder calls no callback.
  while (!decoder.destroyed) {
    const chunk = await input.take();
    if (chunk === null) {
      decoder.end();
      return;
    }
    const before = decoder.bytesWritten;
    await new Promise<void>((resolve) => {
      release = resolve;
      decoder.write(chunk, () => resolve());
    });
    const used = decoder.bytesWritten - before;
    if (used < chunk.length) {
      input.giveBack(chunk.subarray(used)); // X2
      return;
    }
  }
}

/** Whether another member follows; zeros after the last are padding, as on tapes. */
async function hasNextMember(
  input: ByteCursor,
  compression: Compression,
  name: string,
): Promise<boolean> {
  for (let chunk = await input.take(); chunk !== null; chunk = await input.take()) {
    if (compression === "zstd") {
      input.giveBack(chunk);
      return true;
    }
    if (chunk.some((byte) => byte !== 0)) {
      throw unreadable(name, "its gzip data is followed by other data");
    }
  }
  return false;
}
