// Parquet pages: reads, inspects and expands one page at a time before it is decoded.
//   PP1. No count in a page may make the decoder work or allocate without bound. hyparquet repeats
//        a value as often as a run says. A damaged run may say two thousand million, or a negative
//        number, from which hyparquet counts down forever; nothing could interrupt it.
//   PP2. It does not validate pages. Harmless errors are left for hyparquet to find.

import type { ColumnMetaData, DataPageHeader, DataReader, PageHeader, SchemaTree } from "hyparquet";
import { parquetHeader } from "hyparquet/src/column.js";
import type { ExpandPage } from "./parquet-codecs.ts";
import { PARQUET_PAGE_VALUES_MAX } from "./row-limits.ts";

/** One column of one row group, as the footer describes it. */
export interface ColumnChunk {
  readonly metadata: ColumnMetaData;
  /** The schema from the root to the column's leaf. */
  readonly path: readonly SchemaTree[];
}

export interface PageContext {
  readonly chunk: ColumnChunk;
  readonly expandPage: ExpandPage;
  /** Called with the values of each page before they are expanded; throws if they are too many. */
  readonly countValues: (count: number) => void;
}

/** A page without compression, whose header says so. */
export interface Page {
  readonly header: PageHeader;
  readonly bytes: Uint8Array;
}

type DataPageHeaderV2 = NonNullable<PageHeader["data_page_header_v2"]>;

/** Reads the next page of a column and throws if it exceeds the bounds; null is the end. */
export async function nextPage(reader: DataReader, context: PageContext): Promise<Page | null> {
  const { view } = reader;
  if (reader.offset >= view.byteLength - 1) return null;
  const header = parquetHeader(reader);
  const { compressed_page_size: length, uncompressed_page_size: expanded } = header;
  if (!Number.isInteger(expanded) || !(length >= 0 && length <= view.byteLength - reader.offset)) {
    throw new Error("a page is longer than its column");
  }
  const stored = new Uint8Array(view.buffer, view.byteOffset + reader.offset, length);
  reader.offset += length;
  const bytes = await openPage(stored, header, context);
  return { header: headerOf(header, bytes.length), bytes };
}

function headerOf(header: PageHeader, length: number): PageHeader {
  const { data_page_header_v2: v2 } = header;
  const sizes = { compressed_page_size: length, uncompressed_page_size: length };
  if (v2 === undefined) return { ...header, ...sizes };
  return { ...header, ...sizes, data_page_header_v2: { ...v2, is_compressed: false } };
}

async function openPage(
  stored: Uint8Array,
  header: PageHeader,
  context: PageContext,
): Promise<Uint8Array> {
  const { data_page_header: v1, data_page_header_v2: v2 } = header;
  const length = header.uncompressed_page_size;
  if (header.type === "DATA_PAGE" && v1 !== undefined) {
    return openDataPage(stored, length, v1, context);
  }
  if (header.type === "DATA_PAGE_V2" && v2 !== undefined) {
    return openDataPageV2(stored, length, v2, context);
  }
  // PP2: hyparquet rejects a page of another type, or without the header of its type.
  if (header.type !== "DICTIONARY_PAGE") return stored;
  countValues(context, header.dictionary_page_header?.num_values);
  return expandPage(stored, length, context);
}

async function openDataPage(
  stored: Uint8Array,
  length: number,
  { num_values: count, encoding }: DataPageHeader,
  context: PageContext,
): Promise<Uint8Array> {
  countValues(context, count);
  const levels = levelsOf(context.chunk.path);
  const page = await expandPage(stored, length, context);
  let at = skipLevels(page, 0, levels.repetition, count);
  at = skipLevels(page, at, levels.definition, count);
  checkIndexes(page.subarray(at), encoding, count, context);
  return page;
}

async function openDataPageV2(
  stored: Uint8Array,
  length: number,
  header: DataPageHeaderV2,
  context: PageContext,
): Promise<Uint8Array> {
  const { num_values: count, repetition_levels_byte_length: definitionStart } = header;
  const valueStart = definitionStart + header.definition_levels_byte_length;
  checkCounts(header.num_nulls, header.num_rows, definitionStart, valueStart);
  countValues(context, count);
  if (header.num_nulls > count || valueStart > Math.min(stored.length, length)) {
    throw new Error("a page has more levels or nulls than values");
  }
  const { repetition, definition } = levelsOf(context.chunk.path);
  if (repetition > 0) walkRuns(stored, 0, widthOf(repetition), count);
  if (definition > 0) walkRuns(stored, definitionStart, widthOf(definition), count);
  const packed = stored.subarray(valueStart);
  const plain = header.is_compressed === false;
  const values = plain ? packed : await expandPage(packed, length - valueStart, context);
  checkIndexes(values, header.encoding, count, context);
  if (values === packed) return stored;
  const page = new Uint8Array(valueStart + values.length);
  page.set(stored.subarray(0, valueStart));
  page.set(values, valueStart);
  return page;
}

function countValues({ countValues: count }: PageContext, values: number | undefined): void {
  checkCounts(values);
  count(values ?? 0);
}

function expandPage(
  stored: Uint8Array,
  length: number,
  { chunk, expandPage: expand }: PageContext,
): Promise<Uint8Array> {
  return expand(chunk.metadata.codec, stored, length);
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

interface Levels {
  readonly repetition: number;
  readonly definition: number;
}

export function levelsOf(path: readonly SchemaTree[]): Levels {
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
