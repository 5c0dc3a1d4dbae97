// Row format: detects the format of an object, by content if possible, else by name.
//   F1. Parquet is detected by its first bytes, whatever the suffix.
//   F2. A compression suffix is removed before the format suffix is read; whether the object is
//       compressed is decided by its bytes.
//   F3. Without a known suffix the first non-space byte decides; nothing else is guessed.

import type { RowFormat } from "../ports/rows.ts";

/** Formats by suffix, in lower case; docs/reference/formats.md lists them. */
export const FORMAT_SUFFIXES: Readonly<Record<string, RowFormat>> = {
  ".csv": "csv",
  ".tsv": "csv",
  ".jsonl": "jsonl",
  ".ndjson": "jsonl",
  ".json": "json",
  ".parquet": "parquet",
};

export const COMPRESSION_SUFFIXES: readonly string[] = [".gz", ".zst"];

const PARQUET_MAGIC = "PAR1";

/** Bytes that F3 looks at; an object that starts with more spaces is read as CSV. */
export const HEAD_BYTES = 4_096;

export function isParquet(head: Uint8Array): boolean {
  return String.fromCharCode(...head.subarray(0, PARQUET_MAGIC.length)) === PARQUET_MAGIC;
}

/** The format by name, or null (F2). */
export function formatOfName(name: string): RowFormat | null {
  const suffix = suffixOf(name);
  return Object.hasOwn(FORMAT_SUFFIXES, suffix) ? (FORMAT_SUFFIXES[suffix] ?? null) : null;
}

/** The format by the first decompressed bytes (F1, F3). */
export function formatOfContent(head: Uint8Array): RowFormat {
  if (isParquet(head)) return "parquet";
  const text = hasByteOrderMark(head) ? head.subarray(3) : head;
  switch (text.find((byte) => !isSpace(byte))) {
    case 0x7b: // {
      return "jsonl";
    case 0x5b: // [
      return "json";
    default:
      return "csv";
  }
}

/** The delimiter of a CSV object of this name. */
export function delimiterOfName(name: string): string {
  return suffixOf(name) === ".tsv" ? "\t" : ",";
}

export function hasByteOrderMark(head: Uint8Array): boolean {
  return head[0] === 0xef && head[1] === 0xbb && head[2] === 0xbf;
}

function suffixOf(name: string): string {
  const lower = name.toLowerCase();
  const packed = COMPRESSION_SUFFIXES.find((suffix) => lower.endsWith(suffix));
  const bare = packed === undefined ? lower : lower.slice(0, -packed.length);
  const file = bare.slice(bare.lastIndexOf("/") + 1);
  const dot = file.lastIndexOf(".");
  return dot < 0 ? "" : file.slice(dot);
}

function isSpace(byte: number): boolean {
  return byte === 0x20 || byte === 0x09 || byte === 0x0a || byte === 0x0d;
}
