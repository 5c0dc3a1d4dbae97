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

export interface RowLimits {
  readonly rowBytesMax: number;
  readonly jsonBytesMax: number;
  readonly expandedBytesMax: number;
  readonly parquetGroupBytesMax: number;
}

export const ROW_LIMITS: RowLimits = {
  rowBytesMax: ROW_BYTES_MAX,
  jsonBytesMax: JSON_BYTES_MAX,
  expandedBytesMax: EXPANDED_BYTES_MAX,
  parquetGroupBytesMax: PARQUET_GROUP_BYTES_MAX,
};

/** Longer chunks of a source are split, so that each stage buffers little. */
export const CHUNK_BYTES_MAX: Bytes = bytes(65_536);
/** Rows of Parquet per slice, and the expanded bytes of a slice. */
export const PARQUET_SLICE_ROWS_MAX = 65_536;
export const PARQUET_SLICE_BYTES: Bytes = bytes(16 * MEBIBYTE);
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
