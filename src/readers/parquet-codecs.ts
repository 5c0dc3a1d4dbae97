// Parquet codecs: how the pages inside a Parquet file are expanded.
//   PC1. A page may expand to the size in its header and no further, and that size has a limit.

import * as zlib from "node:zlib";
import { type CompressionCodec, type Compressors, snappyUncompress } from "hyparquet";
import { describeBytes } from "./row-limits.ts";
import { unreadable } from "./unreadable.ts";

/** Supported codecs; docs/reference/formats.md lists them. */
export const PARQUET_CODECS: readonly CompressionCodec[] = [
  "UNCOMPRESSED",
  "SNAPPY",
  "GZIP",
  "ZSTD",
  "BROTLI",
];

type Expander = (input: Uint8Array, bytesMax: number) => Uint8Array;

export function createCompressors(name: string, pageBytesMax: number): Compressors {
  function bounded(expandPage: Expander): Expander {
    return (input, length) => {
      if (length >= 0 && length <= pageBytesMax) return expandPage(input, length); // PC1
      throw unreadable(name, `a page of it expands to more than ${describeBytes(pageBytesMax)}`);
    };
  }
  return {
    SNAPPY: bounded((input, length) => {
      const output = new Uint8Array(length);
      snappyUncompress(input, output);
      return output;
    }),
    GZIP: bounded((input, length) => zlib.gunzipSync(input, atMost(length))),
    BROTLI: bounded((input, length) => zlib.brotliDecompressSync(input, atMost(length))),
    ZSTD: bounded((input, length) => {
      if (typeof zlib.zstdDecompressSync !== "function") {
        throw unreadable(
          name,
          "its pages are compressed with zstd, which needs Node 22.15 or later",
        );
      }
      return zlib.zstdDecompressSync(input, atMost(length));
    }),
  };
}

/** Node rejects a limit of zero; a page that should be empty fails by its length instead. */
function atMost(length: number): { readonly maxOutputLength: number } {
  return { maxOutputLength: Math.max(1, length) };
}
