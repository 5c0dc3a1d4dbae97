// Parquet: reads row group by row group, each in batches, by ranges of the object.
//   PQ1. Memory holds one stored row group, one decoded page of each flat column, and one batch of
//        rows, never the file.
//   PQ2. A declared cell without a value makes the object unreadable; hyparquet leaves it
//        undefined, which would look like a null.
//   PQ3. Errors of hyparquet or zlib on damaged bytes concern the content; errors of the source do
//        not (RW3).
//   PQ4. Pages are inspected before they are decoded, so that damage cannot hang the process.
//   PQ5. A batch ends with the time slice, even after a few rows: their values may be long.

import {
  type ColumnMetaData,
  type FileMetaData,
  parquetMetadataAsync,
  parquetSchema,
  type SchemaTree,
} from "hyparquet";
import { parquetPlanGroup, prefetchAsyncBuffer } from "hyparquet/src/plan.js";
import { reasonOf, TidegateError } from "../core/errors.ts";
import type { ByteSource, NumberedRow, ReadRowsOptions, Row } from "../ports/rows.ts";
import { type Compression, compressionOf, MAGIC_BYTES } from "./expand.ts";
import { createPageExpander, type ExpandPage, PARQUET_CODECS } from "./parquet-codecs.ts";
import { type ColumnCursor, type LeafColumn, openColumn } from "./parquet-columns.ts";
import { openParquetFile, type ParquetFile } from "./parquet-file.ts";
import { type Convert, convertOf, withoutDecimals } from "./parquet-values.ts";
import { RowDensity } from "./row-density.ts";
import { isParquet } from "./row-format.ts";
import {
  describeBytes,
  PARQUET_BATCH_BYTES,
  PARQUET_BATCH_ROWS_MAX,
  type RowLimits,
} from "./row-limits.ts";
import { TIME_SLICE_ROWS, type TimeSlice } from "./time-slice.ts";
import { unreadable } from "./unreadable.ts";

interface Column {
  readonly name: string;
  readonly node: SchemaTree;
  readonly convert: Convert;
  /** A flat column has a value or null for each row, so anything else is damage (PQ2). */
  readonly flat: boolean;
}

interface OpenParquet {
  readonly file: ParquetFile;
  readonly metadata: FileMetaData;
  readonly columns: readonly Column[];
  readonly expandPage: ExpandPage;
  readonly density: RowDensity;
  readonly name: string;
  readonly limits: RowLimits;
}

type RowGroup = FileMetaData["row_groups"][number];

/** Magic bytes at both ends, and the length of the footer. */
const FILE_BYTES_MIN = 12;

/** The rows of each batch, batch by batch. */
export async function* parquetRows(
  source: ByteSource,
  { name, signal }: ReadRowsOptions,
  limits: RowLimits,
  slice: TimeSlice,
): AsyncGenerator<readonly NumberedRow[]> {
  const { size } = source;
  if (size === null) {
    throw unreadable(name, "Parquet is read from its end, and the source does not know its size");
  }
  if (size < FILE_BYTES_MIN) throw unreadable(name, `is not Parquet: it has ${size} bytes`);
  const file = openParquetFile(source, { name, size, limits, signal });
  try {
    checkHead(new Uint8Array(await file.buffer.slice(0, MAGIC_BYTES)), name);
    const parquet = await open(file, name, size, limits);
    let groupStart = 0;
    for (const group of parquet.metadata.row_groups) {
      yield* groupRows(parquet, group, groupStart, slice);
      groupStart += Number(group.num_rows);
    }
  } catch (error) {
    signal.throwIfAborted();
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

async function open(
  file: ParquetFile,
  name: string,
  size: number,
  limits: RowLimits,
): Promise<OpenParquet> {
  const stored = await parquetMetadataAsync(file.buffer, { geoparquet: false });
  const metadata = { ...stored, schema: stored.schema.map(withoutDecimals) };
  const readable = parquetSchema(metadata).children;
  const columns = parquetSchema(stored).children.map((declared, index) => {
    const { element, children } = declared;
    const flat = children.length === 0 && element.repetition_type !== "REPEATED";
    const node = readable[index] ?? declared;
    return { name: element.name, node, convert: convertOf(declared), flat };
  });
  const expandPage = createPageExpander(name, limits.parquetGroupBytesMax);
  const density = new RowDensity(name, size, limits);
  const parquet = { file, metadata, columns, expandPage, density, name, limits };
  checkMetadata(parquet);
  return parquet;
}

function checkMetadata({ metadata, columns, density, name, limits }: OpenParquet): void {
  const names = columns.map((column) => column.name);
  const twice = names.find((item, index) => names.indexOf(item) !== index);
  if (twice !== undefined) throw unreadable(name, `has two columns ${JSON.stringify(twice)}`);
  let rows = 0n;
  let expandedBytes = 0n;
  let cells = 0n;
  for (const [index, group] of metadata.row_groups.entries()) {
    rows += group.num_rows;
    expandedBytes += group.total_byte_size;
    checkGroup(group, index + 1, name, limits);
    const position = { row: Number(rows - group.num_rows) + 1 };
    density.checkRows(Number(rows), { row: density.rowsMax + 1 });
    for (const { meta_data: column } of group.columns) cells += column?.num_values ?? 0n;
    density.checkCells(Number(cells), position);
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

async function* groupRows(
  parquet: OpenParquet,
  group: RowGroup,
  groupStart: number,
  slice: TimeSlice,
): AsyncGenerator<readonly NumberedRow[]> {
  const rows = Number(group.num_rows);
  if (rows === 0) return;
  const cursors = await openGroup(parquet, group, groupStart, slice);
  const share = PARQUET_BATCH_BYTES / Math.max(1, Number(group.total_byte_size));
  const step = Math.max(1, Math.min(PARQUET_BATCH_ROWS_MAX, Math.floor(rows * share)));
  for (let start = 0; start < rows; start += step) {
    const count = Math.min(step, rows - start);
    const cells: (readonly unknown[])[] = [];
    for (const cursor of cursors) {
      if (slice.isOver()) await slice.next();
      cells.push(await cursor.take(count));
    }
    yield* batchRows(parquet, cells, { start: groupStart + start, count }, slice);
  }
}

/** Converts cells to rows, and passes them on at the end of each slice (PQ5). */
async function* batchRows(
  { columns, name }: OpenParquet,
  cells: readonly (readonly unknown[])[],
  { start, count }: { readonly start: number; readonly count: number },
  slice: TimeSlice,
): AsyncGenerator<readonly NumberedRow[]> {
  let rows: NumberedRow[] = [];
  for (let index = 0; index < count; index++) {
    const line = start + index + 1;
    rows.push({ line, value: rowOf(columns, cells, index, { name, line }), unit: "row" });
    if (rows.length % TIME_SLICE_ROWS !== 0 || !slice.isOver()) continue;
    yield rows;
    rows = [];
    if (slice.isOver()) await slice.next();
  }
  yield rows;
}

/** Fetches the columns of a group. Their pages are inspected and decoded later (PQ4). */
async function openGroup(
  { file, metadata, columns, expandPage, density }: OpenParquet,
  group: RowGroup,
  groupStart: number,
  slice: TimeSlice,
): Promise<readonly ColumnCursor[]> {
  const groupRows = Number(group.num_rows);
  const ranges: [number, number][] = [[0, groupRows]];
  const names = columns.map((column) => column.name);
  const plan = { rowGroup: group, groupStart, groupRows, ranges, columns: names };
  const { groups, fetches } = parquetPlanGroup(plan);
  const buffer = prefetchAsyncBuffer(file.buffer, { fetches });
  const root = parquetSchema(metadata);
  const countValues = (count: number) => density.addCells(count, { row: groupStart + 1 });
  const leaves = await Promise.all(
    (groups[0]?.chunks ?? []).map(async ({ columnMetadata: column, range }) => {
      const chunk = { metadata: column, path: pathOf(root, column) };
      const bytes = await buffer.slice(range.startByte, range.endByte);
      return { bytes, context: { chunk, expandPage, countValues } } satisfies LeafColumn;
    }),
  );
  return columns.map(({ name, node }) => {
    const own = leaves.filter((leaf) => leaf.context.chunk.metadata.path_in_schema[0] === name);
    return openColumn(node, own, slice);
  });
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

function rowOf(
  columns: readonly Column[],
  cells: readonly (readonly unknown[])[],
  index: number,
  { name, line }: { readonly name: string; readonly line: number },
): Row {
  return Object.fromEntries(
    columns.map((column, position) => {
      const values = cells[position] ?? [];
      const cell = values[index];
      if (index >= values.length || (cell === undefined && column.flat)) {
        const reason = `column ${JSON.stringify(column.name)} has no value`;
        throw unreadable(name, reason, { row: line }); // PQ2
      }
      return [column.name, column.convert(cell)];
    }),
  );
}
