// Copy file: copies a file durably and returns its size and digest.

import { closeSync, fsyncSync, openSync, readSync, writeSync } from "node:fs";
import { sha256HexOfParts } from "../../../core/encoding/hash.ts";

const CHUNK_BYTES = 1_048_576;

export interface FileDigest {
  readonly bytes: number;
  readonly sha256: string;
}

/** Copies `from` to the new file `to`, and syncs it. */
export function copyFileDurably(from: string, to: string): FileDigest {
  const target = openSync(to, "wx");
  try {
    const copied = digestFile(from, (chunk) => {
      for (let at = 0; at < chunk.length; ) at += writeSync(target, chunk, at);
    });
    fsyncSync(target);
    return copied;
  } finally {
    closeSync(target);
  }
}

/** The size and digest of a file, read in chunks. */
export function digestFile(path: string, onChunk?: (chunk: Uint8Array) => void): FileDigest {
  const source = openSync(path, "r");
  let bytes = 0;
  function* chunks() {
    const buffer = Buffer.allocUnsafe(CHUNK_BYTES);
    for (;;) {
      const read = readSync(source, buffer, 0, buffer.length, null);
      if (read === 0) return;
      bytes += read;
      const chunk = buffer.subarray(0, read);
      onChunk?.(chunk);
      yield chunk;
    }
  }
  try {
    const sha256 = sha256HexOfParts(chunks());
    return { bytes, sha256 };
  } finally {
    closeSync(source);
  }
}
