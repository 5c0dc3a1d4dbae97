// Rows: turns the bytes of one object into its rows, one at a time.
//   RW1. Named limits bound memory use; the size of the object does not matter.
//   RW2. A row is a JSON object, whatever the format. Values that JSON cannot represent have one
//        documented substitute (docs/reference/formats.md); nothing is silently rounded, guessed or
//        replaced.
//   RW3. Unreadable content is TG_OBJECT_UNREADABLE, and retrying does not help. A failure of the
//        source is rethrown unchanged, so that a caller can distinguish the two.
//   RW4. However the iteration ends (its end, an error, a break, an abort), the source is closed.

import type { CsvOptions } from "../core/csv-format.ts";
import type { JsonObject } from "../core/encoding/canonical-json.ts";

export type RowFormat = "csv" | "jsonl" | "json" | "parquet";

/**
 * One row. CSV cells are strings. A Parquet int64 beyond the safe range of a double is a decimal
 * string, so that it stays exact.
 */
export type Row = JsonObject;

export interface NumberedRow {
  /**
   * Counted from 1. In CSV and JSON Lines: the line on which the row starts, as an editor shows it.
   * In JSON and Parquet: the position of the row.
   */
  readonly line: number;
  readonly value: Row;
  /** "row" where `line` is the position of the row. Default: "line". */
  readonly unit?: "row";
}

/**
 * One object, pinned to one version: every call sees the same bytes. The signal aborts when the
 * result is no longer needed, to end a request that hangs.
 */
export interface ByteSource {
  /** The size of the stored object in bytes, or null if unknown. */
  readonly size: number | null;
  /** The object from its first byte; closed by the iterator's `return`. */
  stream(signal: AbortSignal): AsyncIterable<Uint8Array>;
  /** The bytes from `start` to `end`, excluding `end`. */
  range(start: number, end: number, signal: AbortSignal): Promise<Uint8Array>;
}

export interface ReadRowsOptions {
  /** "auto" detects the format by content where possible, then by the suffix of `name`. */
  readonly format: RowFormat | "auto";
  /** Only for CSV. */
  readonly csv?: CsvOptions;
  /** The object's key, for its suffix and for messages. */
  readonly name: string;
  readonly signal: AbortSignal;
}

export interface RowReader {
  /** Reads on demand; does not touch the source before the first row is requested. */
  read(source: ByteSource, options: ReadRowsOptions): AsyncIterable<NumberedRow>;
}
