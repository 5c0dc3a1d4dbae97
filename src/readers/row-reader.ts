// Row reader: detects the format of an object and passes it to the reader of that format.
//
//     source -> expand -> limit -> checked text -> CSV, JSON Lines, JSON -> rows
//        \-- ranges ------------------------------ Parquet ---------------> rows
//
//   RR1. Every stage pulls from the one before; nothing is read ahead of the request.
//   RR2. Stages pass on the rows of a whole chunk; only this file splits them into single rows.
//   RR3. Parquet is compressed inside. A Parquet file that is compressed as a whole cannot be read
//        by ranges and is rejected.
//   RR4. Between chunks, and every few rows, the event loop gets its turn after each time slice.

import type { Buffer } from "node:buffer";
import { unreachable } from "../core/assert.ts";
import type { CsvEncoding } from "../core/csv-format.ts";
import type {
  ByteSource,
  NumberedRow,
  ReadRowsOptions,
  RowFormat,
  RowReader,
} from "../ports/rows.ts";
import { ByteCursor } from "./byte-cursor.ts";
import { checkText } from "./checked-text.ts";
import { csvRows } from "./csv-rows.ts";
import { type Compression, compressionOf, expand, limitBytes, MAGIC_BYTES } from "./expand.ts";
import { jsonRows } from "./json-rows.ts";
import { jsonlRows } from "./jsonl-rows.ts";
import { openSource } from "./open-source.ts";
import { packedParquet, parquetRows } from "./parquet-rows.ts";
import { RowDensity } from "./row-density.ts";
import { delimiterOfName, formatOfContent, formatOfName, HEAD_BYTES } from "./row-format.ts";
import { ROW_LIMITS, type RowLimits } from "./row-limits.ts";
import { paced, type ReaderPorts, TIME_SLICE_ROWS, TimeSlice } from "./time-slice.ts";
import { transcode } from "./transcode.ts";
import { unreadable } from "./unreadable.ts";

type Batches = AsyncIterable<readonly NumberedRow[]>;

interface ReadContext extends ReadRowsOptions {
  readonly limits: RowLimits;
  readonly slice: TimeSlice;
}

/** Reads objects as rows. Only tests set `limits`, to lower them. */
export function createRowReader(ports: ReaderPorts, limits: Partial<RowLimits> = {}): RowReader {
  const all = { ...ROW_LIMITS, ...limits };
  return {
    read(source, options) {
      const slice = new TimeSlice(ports, options.signal);
      return readRows(source, { ...options, limits: all, slice });
    },
  };
}

async function* readRows(source: ByteSource, context: ReadContext): AsyncGenerator<NumberedRow> {
  const { format, name, signal, limits, slice } = context;
  const expected = format === "auto" ? formatOfName(name) : format;
  const batches =
    expected === "parquet"
      ? parquetRows(source, context, limits, slice)
      : streamedRows(source, context);
  const density = new RowDensity(name, source.size, limits);
  let count = 0;
  for await (const batch of batches) {
    for (const row of batch) {
      signal.throwIfAborted();
      density.checkRows(++count, { line: row.line });
      if (count % TIME_SLICE_ROWS === 0 && slice.isOver()) await slice.next(); // RR4
      yield row; // RR2
    }
  }
}

/** Rows of an object whose first bytes decide its format. */
async function* streamedRows(
  source: ByteSource,
  context: ReadContext,
): AsyncGenerator<readonly NumberedRow[]> {
  const { name, signal, limits, slice } = context;
  const opened = openSource(source, name, signal);
  const stored = new ByteCursor(opened.chunks);
  let bytes = stored;
  try {
    const compression = compressionOf(await stored.peek(MAGIC_BYTES));
    bytes = new ByteCursor(plainBytes(stored, compression, name, limits));
    const format = await formatOf(bytes, context);
    if (compression !== null) await checkPackedOnce(bytes, format, compression, name);
    if (format === "parquet") {
      await opened.close();
      yield* parquetRows(source, context, limits, slice);
    } else {
      const { encoding = "auto" } = context.csv ?? {};
      const text = format === "csv" ? await transcoded(bytes, encoding, name) : bytes;
      yield* textRows(format, paced(checkText(text, name), slice), context);
    }
  } finally {
    // RW4. The source is closed first: the stages above may be waiting for it.
    await opened.close();
    await bytes.close();
  }
}

/** The text of a CSV object as UTF-8 (E1 of transcode.ts). */
async function transcoded(
  bytes: ByteCursor,
  encoding: CsvEncoding,
  name: string,
): Promise<ByteCursor> {
  const chunks = await transcode(bytes, encoding, name);
  return chunks === bytes ? bytes : new ByteCursor(chunks);
}

function plainBytes(
  stored: ByteCursor,
  compression: Compression | null,
  name: string,
  limits: RowLimits,
): AsyncIterable<Uint8Array> {
  const chunks = compression === null ? stored : expand(stored, compression, name);
  return limitBytes(chunks, limits.expandedBytesMax, name);
}

async function formatOf(bytes: ByteCursor, { format, name }: ReadRowsOptions): Promise<RowFormat> {
  if (format !== "auto") return format;
  const byName = formatOfName(name);
  const head = await bytes.peek(byName === null ? HEAD_BYTES : MAGIC_BYTES);
  const byContent = formatOfContent(head);
  return byContent === "parquet" ? byContent : (byName ?? byContent);
}

function textRows(
  format: Exclude<RowFormat, "parquet">,
  text: AsyncIterable<Buffer>,
  { name, csv: options = {}, limits, slice }: ReadContext,
): Batches {
  switch (format) {
    case "csv":
      return csvRows(text, { name, delimiter: delimiterOfName(name), options, limits });
    case "jsonl":
      return jsonlRows(text, name, limits);
    case "json":
      return jsonRows(text, { name, limits, slice });
    default:
      return unreachable(format);
  }
}

async function checkPackedOnce(
  bytes: ByteCursor,
  format: RowFormat,
  compression: Compression,
  name: string,
): Promise<void> {
  if (format === "parquet") throw packedParquet(name, compression); // RR3
  const inner = compressionOf(await bytes.peek(MAGIC_BYTES));
  if (inner !== null) throw unreadable(name, `is compressed twice, ${inner} inside ${compression}`);
}
