// Parquet columns: the values of one row group, column by column, decoded as rows request them.
//   CO1. Every page is decoded once. A flat column holds one decoded page at a time; a nested one
//        holds its decoded leaves for the whole group, because its rows may span pages.
//   CO2. Between two pages the event loop gets its turn after each slice (TS1).

import type { DataReader, DecodedArray, SchemaTree } from "hyparquet";
import { assembleNested } from "hyparquet/src/assemble.js";
import { readPage } from "hyparquet/src/column.js";
import { convert, DEFAULT_PARSERS } from "hyparquet/src/convert.js";
import {
  type ColumnChunk,
  levelsOf,
  nextPage,
  type Page,
  type PageContext,
} from "./parquet-pages.ts";
import { openRuns, type PageValues } from "./parquet-runs.ts";
import { RAW_PARSERS } from "./parquet-values.ts";
import type { TimeSlice } from "./time-slice.ts";

/** One column of the rows. */
export interface ColumnCursor {
  /** The next `count` values; fewer, or undefined ones, where the file lacks them. */
  take(count: number): Promise<readonly unknown[]>;
}

/** A leaf of the schema, its stored bytes, and what its pages need. */
export interface LeafColumn {
  readonly bytes: ArrayBuffer;
  readonly context: PageContext;
}

type ColumnDecoder = Parameters<typeof readPage>[2];

const PARSERS = { ...DEFAULT_PARSERS, ...RAW_PARSERS };

export function openColumn(
  node: SchemaTree,
  leaves: readonly LeafColumn[],
  slice: TimeSlice,
): ColumnCursor {
  const [leaf] = leaves;
  if (leaf === undefined) throw new Error(`a row group has no column ${node.element.name}`);
  if (node.children.length > 0) return new NestedCursor(node, leaves, slice);
  const repeated = node.element.repetition_type === "REPEATED";
  return repeated ? new NestedCursor(node, leaves, slice) : new FlatCursor(leaf, slice);
}

class FlatCursor implements ColumnCursor {
  readonly #pages: PageDecoder;
  readonly #slice: TimeSlice;
  #values: PageValues | null = null;

  constructor(leaf: LeafColumn, slice: TimeSlice) {
    this.#pages = new PageDecoder(leaf);
    this.#slice = slice;
  }

  async take(count: number): Promise<readonly unknown[]> {
    const output: unknown[] = [];
    while (output.length < count) {
      const values = this.#values;
      if (values !== null && values.remaining > 0) {
        values.take(Math.min(values.remaining, count - output.length), output);
        continue;
      }
      this.#values = null;
      if (this.#slice.isOver()) await this.#slice.next(); // CO2
      const page = await this.#pages.next();
      if (page === null) break;
      this.#values = this.#pages.openRuns(page) ?? new ArrayValues(this.#pages.decode(page));
    }
    return output;
  }
}

class NestedCursor implements ColumnCursor {
  readonly #node: SchemaTree;
  readonly #leaves: readonly LeafColumn[];
  readonly #slice: TimeSlice;
  #decoded: Promise<ReadonlyMap<string, readonly unknown[]>> | null = null;
  #position = 0;

  constructor(node: SchemaTree, leaves: readonly LeafColumn[], slice: TimeSlice) {
    this.#node = node;
    this.#leaves = leaves;
    this.#slice = slice;
  }

  async take(count: number): Promise<readonly unknown[]> {
    this.#decoded ??= this.#decodeLeaves();
    const parts = new Map<string, DecodedArray>();
    for (const [path, values] of await this.#decoded) {
      parts.set(path, values.slice(this.#position, this.#position + count));
    }
    this.#position += count;
    assembleNested(parts, this.#node, PARSERS);
    const values = parts.get(this.#node.element.name);
    if (values === undefined) throw new Error("a nested column has no values");
    return values as readonly unknown[];
  }

  async #decodeLeaves(): Promise<ReadonlyMap<string, readonly unknown[]>> {
    const leaves = new Map<string, readonly unknown[]>();
    for (const leaf of this.#leaves) {
      const path = leaf.context.chunk.metadata.path_in_schema.join(".");
      leaves.set(path, await this.#decodeLeaf(leaf));
    }
    return leaves;
  }

  async #decodeLeaf(leaf: LeafColumn): Promise<readonly unknown[]> {
    const pages = new PageDecoder(leaf);
    const all: unknown[] = [];
    let previous: DecodedArray | undefined;
    for (let page = await pages.next(); page !== null; page = await pages.next()) {
      const values = pages.decode(page, previous);
      if (values !== previous && previous !== undefined) append(all, previous);
      previous = values;
      if (this.#slice.isOver()) await this.#slice.next(); // CO2
    }
    if (previous !== undefined) append(all, previous);
    return all;
  }
}

/** Reads the pages of one leaf and decodes them with hyparquet. */
class PageDecoder {
  readonly #reader: DataReader;
  readonly #context: PageContext;
  readonly #decoder: ColumnDecoder;
  #dictionary: DecodedArray | undefined;

  constructor({ bytes, context }: LeafColumn) {
    this.#reader = { view: new DataView(bytes), offset: 0 };
    this.#context = context;
    this.#decoder = decoderOf(context.chunk);
  }

  /** The next data page; dictionaries on the way are decoded. */
  async next(): Promise<Page | null> {
    while (true) {
      const page = await nextPage(this.#reader, this.#context);
      if (page === null || page.header.type !== "DICTIONARY_PAGE") return page;
      this.#dictionary = convert(this.decode(page), this.#decoder);
    }
  }

  /** All values of a page; the result is `previous` if the page continues its last row. */
  decode({ header, bytes }: Page, previous?: DecodedArray): DecodedArray {
    const view = new DataView(bytes.buffer as ArrayBuffer, bytes.byteOffset, bytes.byteLength);
    const reader = { view, offset: 0 };
    return readPage(reader, header, this.#decoder, this.#dictionary, previous, 0).data ?? [];
  }

  openRuns(page: Page): PageValues | null {
    const { metadata, path } = this.#context.chunk;
    return openRuns(page, {
      boolean: metadata.type === "BOOLEAN",
      nullable: levelsOf(path).definition > 0,
      dictionary: this.#dictionary,
    });
  }
}

class ArrayValues implements PageValues {
  readonly #values: ArrayLike<unknown>;
  #position = 0;

  constructor(values: ArrayLike<unknown>) {
    this.#values = values;
  }

  get remaining(): number {
    return this.#values.length - this.#position;
  }

  take(count: number, output: unknown[]): void {
    for (let index = 0; index < count; index++) output.push(this.#values[this.#position++]);
  }
}

/** The pages are expanded already, so hyparquet sees none that is compressed. */
function decoderOf({ metadata, path }: ColumnChunk): ColumnDecoder {
  const element = path.at(-1)?.element;
  if (element === undefined) throw new Error("a column has no schema");
  return {
    pathInSchema: metadata.path_in_schema,
    type: metadata.type,
    element,
    schemaPath: [...path],
    codec: "UNCOMPRESSED",
    parsers: PARSERS,
    utf8: false,
  };
}

function append(all: unknown[], values: DecodedArray): void {
  for (const value of values) all.push(value);
}
