// Row limits: the resources that one object may use. A test compares docs/reference/formats.md.

import { type Bytes, bytes } from "../core/units.ts";

const MEBIBYTE = 1_048_576;

/** One row of CSV or JSON Lines, which is in memory as a whole. */
export const ROW_BYTES_MAX: Bytes = bytes(16 * MEBIBYTE);
/** One JSON document, which is parsed as a whole. */
export const JSON_BYTES_MAX: Bytes = bytes(64 * MEBIBYTE);
/** All bytes of one object after decompression, against decompression bombs. */
export const EXPANDED_BYTES_MAX: Bytes = bytes(16_384 * MEBIBYTE);
/** The compressed bytes of one Parquet row group, one expanded page, and the footer. */
export const PARQUET_GROUP_BYTES_MAX: Bytes = bytes(512 * MEBIBYTE);
/** Rows per stored byte: eight times as many as rows of one bit each. */
export const ROWS_PER_BYTE_MAX = 64;
/** Parquet values per stored byte; wide tables have many empty columns, which take no space. */
export const CELLS_PER_BYTE_MAX = 256;
/** A smaller object counts as this many bytes: a million equal rows take a few hundred. */
export const RATIO_BYTES_MIN: Bytes = bytes(65_536);

export interface RowLimits {
  readonly rowBytesMax: number;
  readonly jsonBytesMax: number;
  readonly expandedBytesMax: number;
  readonly parquetGroupBytesMax: number;
  readonly rowsPerByteMax: number;
  readonly cellsPerByteMax: number;
  readonly ratioBytesMin: number;
}

export const ROW_LIMITS: RowLimits = {
  rowBytesMax: ROW_BYTES_MAX,
  jsonBytesMax: JSON_BYTES_MAX,
  expandedBytesMax: EXPANDED_BYTES_MAX,
  parquetGroupBytesMax: PARQUET_GROUP_BYTES_MAX,
  rowsPerByteMax: ROWS_PER_BYTE_MAX,
  cellsPerByteMax: CELLS_PER_BYTE_MAX,
  ratioBytesMin: RATIO_BYTES_MIN,
};

/** Longer chunks of a source are split, so that each stage buffers little. */
export const CHUNK_BYTES_MAX: Bytes = bytes(65_536);
/** Rows of Parquet whose cells are decoded together, and the expanded bytes of them. */
export const PARQUET_BATCH_ROWS_MAX = 1_024;
export const PARQUET_BATCH_BYTES: Bytes = bytes(16 * MEBIBYTE);
/** Pages up to this size are expanded in place, longer ones on the thread pool. */
export const PARQUET_PAGE_BYTES_SYNC_MAX: Bytes = bytes(65_536);
/** Values of one Parquet page, and of one run in it; a few bytes can declare any number of them. */
export const PARQUET_PAGE_VALUES_MAX = 16_777_216;
/** Concurrent range requests for one Parquet object. */
export const PARQUET_RANGES_MAX = 4;

/** A size as messages and docs write it. */
export function describeBytes(count: number): string {
  const units = [
    ["GiB", 1_073_741_824],
    ["MiB", 1_048_576],
    ["KiB", 1_024],
  ] as const;
  for (const [unit, size] of units) {
    if (count >= size && count % size === 0) return `${count / size} ${unit}`;
  }
  return `${count} bytes`;
}
