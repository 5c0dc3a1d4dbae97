// Row reader: detects the format of an object and passes it to the reader of that format.
//
//     source -> expand -> limit -> checked text -> CSV, JSON Lines, JSON -> rows
//        \-- ranges ------------------------------ Parquet ---------------> rows
//
//   RR1. Every stage pulls from the one before; nothing is read ahead of the request.
//   RR2. Stages pass on the rows of a whole chunk; only this file splits them into single rows.
//   RR3. Parquet is compressed inside. A Parquet file that is compressed as a whole cannot be read
//        by ranges and is rejected.

import type { Buffer } from "node:buffer";
import { unreachable } from "../core/assert.ts";
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
import { delimiterOfName, formatOfContent, formatOfName, HEAD_BYTES } from "./row-format.ts";
import { ROW_LIMITS, type RowLimits } from "./row-limits.ts";
import { unreadable } from "./unreadable.ts";

type Batches = AsyncIterable<readonly NumberedRow[]>;

/** Reads objects as rows. Only tests set `limits`, to lower them. */
export function createRowReader(limits: Partial<RowLimits> = {}): RowReader {
  const all = { ...ROW_LIMITS, ...limits };
  return { read: (source, options) => readRows(source, options, all) };
}

async function* readRows(
  source: ByteSource,
  options: ReadRowsOptions,
  limits: RowLimits,
): AsyncGenerator<NumberedRow> {
  const { format, name, signal } = options;
  const expected = format === "auto" ? formatOfName(name) : format;
  const batches =
    expected === "parquet"
      ? parquetRows(source, options, limits)
      : streamedRows(source, options, limits);
  for await (const batch of batches) {
    for (const row of batch) {
      signal.throwIfAborted();
      yield row; // RR2
    }
  }
}

/** Rows of an object whose first bytes decide its format. */
async function* streamedRows(
  source: ByteSource,
  options: ReadRowsOptions,
  limits: RowLimits,
): AsyncGenerator<readonly NumberedRow[]> {
  const { name, signal } = options;
  const opened = openSource(source, name, signal);
  const stored = new ByteCursor(opened.chunks);
  let bytes = stored;
  try {
    const compression = compressionOf(await stored.peek(MAGIC_BYTES));
    bytes = new ByteCursor(plainBytes(stored, compression, name, limits));
    const format = await formatOf(bytes, options);
    if (compression !== null) await checkPackedOnce(bytes, format, compression, name);
    if (format === "parquet") {
      await opened.close();
      yield* parquetRows(source, options, limits);
    } else {
      yield* textRows(format, checkText(bytes, name), name, limits);
    }
  } finally {
    // RW4. The source is closed first: the stages above may be waiting for it.
    await opened.close();
    await bytes.close();
  }
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
  name: string,
  limits: RowLimits,
): Batches {
  switch (format) {
    case "csv":
      return csvRows(text, { name, delimiter: delimiterOfName(name), limits });
    case "jsonl":
      return jsonlRows(text, name, limits);
    case "json":
      return jsonRows(text, name, limits);
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
