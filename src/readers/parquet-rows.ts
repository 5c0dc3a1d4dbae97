// Parquet: reads row group by row group, each in slices, by ranges of the object.
//   PQ1. Memory holds one stored row group and one slice of its rows, never the file.
//   PQ2. A declared cell without a value makes the object unreadable; hyparquet leaves it
//        undefined, which would look like a null.
//   PQ3. Errors of hyparquet or zlib on damaged bytes concern the content; errors of the source do
//        not (RW3).
//   PQ4. Pages are inspected before they are decoded, so that damage cannot hang the process.

import {
  type ColumnMetaData,
  type Compressors,
  type FileMetaData,
  parquetMetadataAsync,
  parquetRead,
  parquetSchema,
  type SchemaTree,
} from "hyparquet";
import { reasonOf, TidegateError } from "../core/errors.ts";
import type { ByteSource, NumberedRow, ReadRowsOptions, Row } from "../ports/rows.ts";
import { type Compression, compressionOf, MAGIC_BYTES } from "./expand.ts";
import { createCompressors, PARQUET_CODECS } from "./parquet-codecs.ts";
import { type Inspect, openParquetFile, type ParquetFile } from "./parquet-file.ts";
import { checkPages } from "./parquet-pages.ts";
import { type Convert, convertOf, RAW_PARSERS, withoutDecimals } from "./parquet-values.ts";
import { isParquet } from "./row-format.ts";
import {
  describeBytes,
  PARQUET_SLICE_BYTES,
  PARQUET_SLICE_ROWS_MAX,
  type RowLimits,
} from "./row-limits.ts";
import { unreadable } from "./unreadable.ts";

interface Column {
  readonly name: string;
  readonly convert: Convert;
  /** A flat column has a value or null for each row, so anything else is damage (PQ2). */
  readonly flat: boolean;
}

interface OpenParquet {
  readonly file: ParquetFile;
  readonly metadata: FileMetaData;
  readonly columns: readonly Column[];
  readonly compressors: Compressors;
  readonly name: string;
  readonly limits: RowLimits;
}

type RowGroup = FileMetaData["row_groups"][number];

/** Magic bytes at both ends, and the length of the footer. */
const FILE_BYTES_MIN = 12;

/** The rows of each slice, slice by slice. */
export async function* parquetRows(
  source: ByteSource,
  { name, signal }: ReadRowsOptions,
  limits: RowLimits,
): AsyncGenerator<readonly NumberedRow[]> {
  const { size } = source;
  if (size === null) {
    throw unreadable(name, "Parquet is read from its end, and the source does not know its size");
  }
  if (size < FILE_BYTES_MIN) throw unreadable(name, `is not Parquet: it has ${size} bytes`);
  const file = openParquetFile(source, { name, size, limits, signal });
  try {
    checkHead(new Uint8Array(await file.buffer.slice(0, MAGIC_BYTES)), name);
    const parquet = await open(file, name, limits);
    for (const { group, firstOfGroup, rowStart, rowEnd } of slicesOf(parquet)) {
      if (firstOfGroup) file.begin(inspectorOf(group, parquet)); // PQ1, PQ4
      yield await readSlice(parquet, rowStart, rowEnd);
    }
  } catch (error) {
    const failure = file.sourceFailure();
    if (failure !== null) throw failure.error; // PQ3
    if (error instanceof TidegateError && error.code === "TG_OBJECT_UNREADABLE") throw error;
    throw unreadable(name, `cannot be read as Parquet (${reasonOf(error)})`, { cause: error });
  }
}

/** Parquet is compressed inside; a compressed Parquet file cannot be read by ranges. */
export function packedParquet(name: string, compression: Compression): TidegateError {
  const reason = `is compressed with ${compression}; Parquet is read by ranges, so store it as it is`;
  return unreadable(name, reason);
}

function checkHead(head: Uint8Array, name: string): void {
  const compression = compressionOf(head);
  if (compression !== null) throw packedParquet(name, compression);
  if (!isParquet(head)) throw unreadable(name, "is not Parquet: it does not start with PAR1");
}

async function open(file: ParquetFile, name: string, limits: RowLimits): Promise<OpenParquet> {
  const stored = await parquetMetadataAsync(file.buffer, { geoparquet: false });
  const columns = parquetSchema(stored).children.map((node) => ({
    name: node.element.name,
    convert: convertOf(node),
    flat: node.children.length === 0 && node.element.repetition_type !== "REPEATED",
  }));
  const metadata = { ...stored, schema: stored.schema.map(withoutDecimals) };
  const compressors = createCompressors(name, limits.parquetGroupBytesMax);
  const parquet = { file, metadata, columns, compressors, name, limits };
  checkMetadata(parquet);
  return parquet;
}

function checkMetadata({ metadata, columns, name, limits }: OpenParquet): void {
  const names = columns.map((column) => column.name);
  const twice = names.find((item, index) => names.indexOf(item) !== index);
  if (twice !== undefined) throw unreadable(name, `has two columns ${JSON.stringify(twice)}`);
  let rows = 0n;
  let expandedBytes = 0n;
  for (const [index, group] of metadata.row_groups.entries()) {
    rows += group.num_rows;
    expandedBytes += group.total_byte_size;
    checkGroup(group, index + 1, name, limits);
  }
  if (rows !== metadata.num_rows) {
    throw unreadable(name, `its footer counts ${metadata.num_rows} rows, its groups ${rows}`);
  }
  if (expandedBytes > limits.expandedBytesMax) {
    const max = describeBytes(limits.expandedBytesMax);
    throw unreadable(name, `has more than ${max} when expanded`);
  }
}

function checkGroup(group: RowGroup, ordinal: number, name: string, limits: RowLimits): void {
  let storedBytes = 0n;
  for (const { meta_data: column } of group.columns) {
    if (column === undefined) throw unreadable(name, "has columns that are encrypted");
    storedBytes += column.total_compressed_size;
    if (PARQUET_CODECS.includes(column.codec)) continue;
    const supported = PARQUET_CODECS.slice(1).join(", ");
    throw unreadable(
      name,
      `its pages are compressed with ${column.codec}; supported are ${supported}`,
    );
  }
  if (storedBytes <= limits.parquetGroupBytesMax) return;
  const max = describeBytes(limits.parquetGroupBytesMax);
  throw unreadable(name, `row group ${ordinal} is longer than ${max}; write smaller groups`);
}

interface Slice {
  readonly group: RowGroup;
  readonly firstOfGroup: boolean;
  readonly rowStart: number;
  readonly rowEnd: number;
}

/** Ranges of rows, none of which spans two groups. */
function* slicesOf({ metadata }: OpenParquet): Generator<Slice> {
  let groupStart = 0;
  for (const group of metadata.row_groups) {
    const rows = Number(group.num_rows);
    const share = PARQUET_SLICE_BYTES / Math.max(1, Number(group.total_byte_size));
    const step = Math.max(1, Math.min(PARQUET_SLICE_ROWS_MAX, Math.floor(rows * share)));
    const groupEnd = groupStart + rows;
    for (let rowStart = groupStart; rowStart < groupEnd; rowStart += step) {
      const rowEnd = Math.min(rowStart + step, groupEnd);
      yield { group, firstOfGroup: rowStart === groupStart, rowStart, rowEnd };
    }
    groupStart = groupEnd;
  }
}

/** Inspects each column of the group as it arrives; a range has whole columns (PQ4). */
function inspectorOf(group: RowGroup, { metadata, compressors }: OpenParquet): Inspect {
  const root = parquetSchema(metadata);
  const chunks = group.columns.flatMap(({ meta_data: column }) => {
    return column === undefined ? [] : [{ metadata: column, path: pathOf(root, column) }];
  });
  return (bytes, rangeStart) => {
    for (const chunk of chunks) {
      const { dictionary_page_offset, data_page_offset, total_compressed_size } = chunk.metadata;
      const start = Number(dictionary_page_offset || data_page_offset) - rangeStart;
      const end = start + Number(total_compressed_size);
      if (start < 0 || end > bytes.byteLength) continue;
      checkPages(new Uint8Array(bytes, start, end - start), chunk, compressors);
    }
  };
}

function pathOf(root: SchemaTree, { path_in_schema: names }: ColumnMetaData): SchemaTree[] {
  const path = [root];
  for (const name of names) {
    const child = path.at(-1)?.children.find(({ element }) => element.name === name);
    if (child === undefined) throw new Error(`the schema has no column ${names.join(".")}`);
    path.push(child);
  }
  return path;
}

async function readSlice(
  { file, metadata, columns, compressors, name }: OpenParquet,
  rowStart: number,
  rowEnd: number,
): Promise<NumberedRow[]> {
  let cells: readonly (readonly unknown[])[] = [];
  await parquetRead({
    file: file.buffer,
    metadata,
    rowStart,
    rowEnd,
    columns: columns.map((column) => column.name),
    rowFormat: "array",
    utf8: false,
    geoparquet: false,
    parsers: RAW_PARSERS,
    compressors,
    onComplete: (rows) => {
      cells = rows;
    },
  });
  if (cells.length !== rowEnd - rowStart) throw unreadable(name, "has fewer rows than it declares");
  return cells.map((row, index) => {
    const line = rowStart + index + 1;
    return { line, value: rowOf(columns, row, name, line) };
  });
}

function rowOf(
  columns: readonly Column[],
  cells: readonly unknown[],
  name: string,
  ordinal: number,
): Row {
  return Object.fromEntries(
    columns.map((column, index) => {
      const cell = cells[index];
      if (cell === undefined && column.flat) {
        const reason = `column ${JSON.stringify(column.name)} has no value`;
        throw unreadable(name, reason, { row: ordinal }); // PQ2
      }
      return [column.name, column.convert(cell)];
    }),
  );
}
