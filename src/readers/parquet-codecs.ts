// Parquet codecs: how the pages inside a Parquet file are expanded.
//   PC1. A page may expand to the size in its header and no further, and that size has a limit.
//   PC2. zlib expands long pages on the thread pool, so that they do not block the event loop.
//        SNAPPY is expanded in JavaScript, page by page, and cannot be interrupted inside a page.

import * as zlib from "node:zlib";
import { type CompressionCodec, snappyUncompress } from "hyparquet";
import { describeBytes, PARQUET_PAGE_BYTES_SYNC_MAX } from "./row-limits.ts";
import { unreadable } from "./unreadable.ts";

/** Supported codecs; docs/reference/formats.md lists them. */
export const PARQUET_CODECS: readonly CompressionCodec[] = [
  "UNCOMPRESSED",
  "SNAPPY",
  "GZIP",
  "ZSTD",
  "BROTLI",
];

/** Expands one page to exactly `length` bytes. */
export type ExpandPage = (
  codec: CompressionCodec,
  input: Uint8Array,
  length: number,
) => Promise<Uint8Array>;

type Settings = { readonly maxOutputLength: number };
type Callback = (error: Error | null, output: Uint8Array) => void;

interface ZlibCodec {
  readonly inPlace: (input: Uint8Array, settings: Settings) => Uint8Array;
  readonly onPool: (input: Uint8Array, settings: Settings, done: Callback) => void;
}

const GZIP: ZlibCodec = { inPlace: zlib.gunzipSync, onPool: zlib.gunzip };
const BROTLI: ZlibCodec = {
  inPlace: zlib.brotliDecompressSync,
  onPool: zlib.brotliDecompress,
};

export function createPageExpander(name: string, pageBytesMax: number): ExpandPage {
  function zstd(): ZlibCodec {
    const { zstdDecompressSync: inPlace, zstdDecompress: onPool } = zlib;
    if (typeof inPlace === "function") return { inPlace, onPool };
    throw unreadable(name, "its pages are compressed with zstd, which needs Node 22.15 or later");
  }

  function expand(codec: CompressionCodec, input: Uint8Array, length: number) {
    switch (codec) {
      case "SNAPPY": {
        const output = new Uint8Array(length);
        snappyUncompress(input, output);
        return output;
      }
      case "GZIP":
        return expandByZlib(GZIP, input, length);
      case "BROTLI":
        return expandByZlib(BROTLI, input, length);
      case "ZSTD":
        return expandByZlib(zstd(), input, length);
      default:
        return input;
    }
  }

  return async (codec, input, length) => {
    if (!(length >= 0 && length <= pageBytesMax)) {
      throw unreadable(name, `a page of it expands to more than ${describeBytes(pageBytesMax)}`);
    }
    const page = await expand(codec, input, length);
    if (page.length === length) return page; // PC1
    throw new Error(`a page expands to ${page.length} bytes; its header declares ${length}`);
  };
}

function expandByZlib(
  { inPlace, onPool }: ZlibCodec,
  input: Uint8Array,
  length: number,
): Uint8Array | Promise<Uint8Array> {
  // Node rejects a limit of zero; a page that should be empty fails by its length instead.
  const settings = { maxOutputLength: Math.max(1, length) };
  if (length <= PARQUET_PAGE_BYTES_SYNC_MAX) return inPlace(input, settings);
  return new Promise((resolve, reject) => {
    onPool(input, settings, (error, output) => (error === null ? resolve(output) : reject(error)));
  }); // PC2
}
