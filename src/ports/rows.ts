// Rows: the bytes of one object in, its rows out, one at a time.
//   RW1. Memory is bounded by named limits, never by the size of the object.
//   RW2. A row is a JSON object, whatever the format. What JSON cannot carry has one documented
//        stand-in (docs/reference/formats.md); nothing is rounded, guessed or replaced in silence.
//   RW3. Content that cannot be read is TG_OBJECT_UNREADABLE and will not mend; a failure of the
//        source is thrown as the source threw it, so that whoever retries can tell them apart.
//   RW4. However the iteration ends (its end, an error, a break, an abort), the source is closed.

import type { JsonObject } from "../core/encoding/canonical-json.ts";

export type RowFormat = "csv" | "jsonl" | "json" | "parquet";

/**
 * One record. Cells of CSV are strings. A Parquet int64 beyond the safe range of a double is a
 * decimal string, so that it stays exact.
 */
export type Row = JsonObject;

export interface NumberedRow {
  /**
   * Counted from 1. In CSV and JSON Lines the physical line on which the record starts, as an
   * editor shows it; in JSON and Parquet the place of the record among the records.
   */
  readonly line: number;
  readonly value: Row;
}

/**
 * One object, pinned to one version: every call sees the same bytes. The signal is aborted when
 * nobody wants the answer any more; it is there to end a request that hangs.
 */
export interface ByteSource {
  /** All bytes of the object as it is stored, or null if that is not known. */
  readonly size: number | null;
  /** The object from its first byte; closed by the iterator's `return`. */
  stream(signal: AbortSignal): AsyncIterable<Uint8Array>;
  /** The bytes from `start` up to, and without, `end`. */
  range(start: number, end: number, signal: AbortSignal): Promise<Uint8Array>;
}

export interface ReadRowsOptions {
  /** "auto" goes by content where content tells, then by the suffix of `name`. */
  readonly format: RowFormat | "auto";
  /** The object's key, for its suffix and for messages. */
  readonly name: string;
  readonly signal: AbortSignal;
}

export interface RowReader {
  /** Reads on demand; nothing of the source is touched before the first row is asked for. */
  read(source: ByteSource, options: ReadRowsOptions): AsyncIterable<NumberedRow>;
}
