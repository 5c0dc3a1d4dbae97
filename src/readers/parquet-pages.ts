// Parquet pages: inspects pages before hyparquet decodes them.
//   PP1. No count in a page may make the decoder work or allocate without bound. hyparquet repeats
//        a value as often as a run says. A damaged run may say two thousand million, or a negative
//        number, from which hyparquet counts down forever; nothing could interrupt it.
//   PP2. It does not validate pages. Harmless errors are left for hyparquet to find.

import type {
  ColumnMetaData,
  Compressors,
  DataPageHeader,
  PageHeader,
  SchemaTree,
} from "hyparquet";
import { parquetHeader } from "hyparquet/src/column.js";
import { PARQUET_PAGE_VALUES_MAX } from "./row-limits.ts";

/** One column of one row group, as the footer describes it. */
export interface ColumnChunk {
  readonly metadata: ColumnMetaData;
  /** The schema from the root to the column's leaf. */
  readonly path: readonly SchemaTree[];
}

type DataPageHeaderV2 = NonNullable<PageHeader["data_page_header_v2"]>;

interface Levels {
  readonly repetition: number;
  readonly definition: number;
}

/** Throws if a page of the column exceeds the bounds; `bytes` are all its pages. */
export function checkPages(bytes: Uint8Array, chunk: ColumnChunk, compressors: Compressors): void {
  const levels = levelsOf(chunk.path);
  const reader = { view: viewOf(bytes), offset: 0 };
  while (reader.offset < bytes.length - 1) {
    const header = parquetHeader(reader);
    const { compressed_page_size: length, uncompressed_page_size: expanded } = header;
    if (!Number.isInteger(expanded) || !(length >= 0 && length <= bytes.length - reader.offset)) {
      throw new Error("a page is longer than its column");
    }
    checkPage(bytes.subarray(reader.offset, reader.offset + length), header, {
      chunk,
      levels,
      compressors,
    });
    reader.offset += length;
  }
}

interface PageContext {
  readonly chunk: ColumnChunk;
  readonly levels: Levels;
  readonly compressors: Compressors;
}

function checkPage(bytes: Uint8Array, header: PageHeader, context: PageContext): void {
  const { data_page_header: v1, data_page_header_v2: v2 } = header;
  const length = header.uncompressed_page_size;
  // PP2: hyparquet rejects a page of another type, or without the header of its type.
  if (header.type === "DICTIONARY_PAGE") checkCounts(header.dictionary_page_header?.num_values);
  if (header.type === "DATA_PAGE" && v1 !== undefined) checkDataPage(bytes, length, v1, context);
  if (header.type === "DATA_PAGE_V2" && v2 !== undefined)
    checkDataPageV2(bytes, length, v2, context);
}

function checkDataPage(
  bytes: Uint8Array,
  length: number,
  { num_values: count, encoding }: DataPageHeader,
  context: PageContext,
): void {
  checkCounts(count);
  const page = expandPage(bytes, length, context);
  let at = skipLevels(page, 0, context.levels.repetition, count);
  at = skipLevels(page, at, context.levels.definition, count);
  checkIndexes(page.subarray(at), encoding, count, context);
}

function checkDataPageV2(
  bytes: Uint8Array,
  length: number,
  header: DataPageHeaderV2,
  context: PageContext,
): void {
  const { num_values: count, repetition_levels_byte_length: definitionStart } = header;
  const valueStart = definitionStart + header.definition_levels_byte_length;
  checkCounts(count, header.num_nulls, header.num_rows, definitionStart, valueStart);
  if (header.num_nulls > count || valueStart > Math.min(bytes.length, length)) {
    throw new Error("a page has more levels or nulls than values");
  }
  const { repetition, definition } = context.levels;
  if (repetition > 0) walkRuns(bytes, 0, widthOf(repetition), count);
  if (definition > 0) walkRuns(bytes, definitionStart, widthOf(definition), count);
  const stored = bytes.subarray(valueStart);
  const values =
    header.is_compressed === false ? stored : expandPage(stored, length - valueStart, context);
  checkIndexes(values, header.encoding, count, context);
}

function expandPage(bytes: Uint8Array, length: number, context: PageContext): Uint8Array {
  const expander = context.compressors[context.chunk.metadata.codec];
  return expander === undefined ? bytes : expander(bytes, length);
}

/** The position behind levels that are stored with their length in front. */
function skipLevels(page: Uint8Array, at: number, level: number, count: number): number {
  if (level === 0) return at;
  walkRuns(page, at + 4, widthOf(level), count);
  return at + 4 + viewOf(page).getUint32(at, true);
}

/** Runs of indexes into a dictionary, or of booleans; other encodings bound themselves. */
function checkIndexes(
  values: Uint8Array,
  encoding: string | undefined,
  count: number,
  { chunk }: PageContext,
): void {
  if (encoding !== "RLE" && !encoding?.endsWith("_DICTIONARY")) return;
  if (chunk.metadata.type === "BOOLEAN") walkRuns(values, 4, 1, count);
  else walkRuns(values, 1, values[0] ?? 0, count);
}

/** Walks the runs as hyparquet does, until there are `count` values or no more bytes (PP1). */
function walkRuns(bytes: Uint8Array, start: number, width: number, count: number): void {
  let at = start;
  let counted = 0;
  while (counted < count && at < bytes.length) {
    let header = 0;
    let shift = 0;
    let byte = 0x80;
    for (; byte & 0x80 && at < bytes.length; shift += 7) {
      byte = bytes[at++] ?? 0;
      header |= (byte & 0x7f) << shift;
    }
    const packed = (header & 1) === 1;
    const values = packed ? (header >>> 1) * 8 : header >>> 1;
    checkCounts(values);
    at += packed ? Math.max(1, Math.ceil((values * width) / 8)) : (width + 7) >> 3;
    counted += values;
  }
}

/** A header without a count is rejected too: with a NaN position hyparquet never advances. */
function checkCounts(...counts: readonly (number | undefined)[]): void {
  const wrong = counts.find((count) => !isCount(count));
  if (counts.every(isCount)) return;
  throw new Error(`a page declares ${wrong} values; up to ${PARQUET_PAGE_VALUES_MAX} are read`);
}

function isCount(count: number | undefined): boolean {
  if (count === undefined || !Number.isInteger(count)) return false;
  return count >= 0 && count <= PARQUET_PAGE_VALUES_MAX;
}

function levelsOf(path: readonly SchemaTree[]): Levels {
  const kinds = path.slice(1).map(({ element }) => element.repetition_type);
  return {
    repetition: kinds.filter((kind) => kind === "REPEATED").length,
    definition: kinds.filter((kind) => kind !== "REQUIRED").length,
  };
}

function widthOf(level: number): number {
  return 32 - Math.clz32(level);
}

function viewOf(bytes: Uint8Array): DataView<ArrayBuffer> {
  return new DataView(bytes.buffer as ArrayBuffer, bytes.byteOffset, bytes.byteLength);
}
