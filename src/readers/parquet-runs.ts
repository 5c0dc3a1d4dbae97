// Parquet runs: the values of a dictionary or boolean page of a flat column, decoded on demand.
//   RN1. Only requested values are decoded. A page of millions of equal values takes no memory, and
//        other work runs between two requests; hyparquet decodes a page in one piece.
//   RN2. Values behind the end of the runs, or outside the dictionary, are undefined; the row check
//        rejects them (PQ2).

import type { DecodedArray } from "hyparquet";
import type { Page } from "./parquet-pages.ts";

/** The values of one page, in order. */
export interface PageValues {
  readonly remaining: number;
  /** Appends the next `count` values, at most `remaining`, to `output`. */
  take(count: number, output: unknown[]): void;
}

export interface FlatColumn {
  readonly boolean: boolean;
  readonly nullable: boolean;
  readonly dictionary: DecodedArray | undefined;
}

const FALSE_AND_TRUE = [false, true];

/** Null for a page whose values are not stored as runs. */
export function openRuns({ header, bytes }: Page, column: FlatColumn): PageValues | null {
  const { data_page_header: v1, data_page_header_v2: v2 } = header;
  const encoding = (v1 ?? v2)?.encoding;
  const boolean = column.boolean && encoding === "RLE";
  const dictionary = encoding?.endsWith("_DICTIONARY") ? column.dictionary : undefined;
  const values = boolean ? FALSE_AND_TRUE : dictionary;
  if (values === undefined || (boolean && column.dictionary !== undefined)) return null;
  const levelBytes = v2?.definition_levels_byte_length ?? 0;
  const levelStart = v2?.repetition_levels_byte_length ?? 4;
  const lengthOf = (at: number) => viewOf(bytes).getUint32(at, true);
  const v1End = column.nullable && v2 === undefined ? levelStart + lengthOf(0) : 0;
  const start = v2 === undefined ? v1End : levelStart + levelBytes;
  const indexes = boolean
    ? new RunReader(bytes, start + 4, 1)
    : new RunReader(bytes, start + 1, bytes[start] ?? 0);
  const levels = column.nullable ? new RunReader(bytes, levelStart, 1) : null;
  return new RunValues((v1 ?? v2)?.num_values ?? 0, levels, indexes, values);
}

class RunValues implements PageValues {
  readonly #levels: RunReader | null;
  readonly #indexes: RunReader;
  readonly #values: ArrayLike<unknown>;
  remaining: number;

  constructor(
    count: number,
    levels: RunReader | null,
    indexes: RunReader,
    values: ArrayLike<unknown>,
  ) {
    this.remaining = count;
    this.#levels = levels;
    this.#indexes = indexes;
    this.#values = values;
  }

  take(count: number, output: unknown[]): void {
    this.remaining -= count;
    const levels = this.#levels?.take(count);
    const nulls = levels === undefined ? 0 : levels.filter((level) => level !== 1).length;
    const indexes = this.#indexes.take(count - nulls);
    let next = 0;
    for (let at = 0; at < count; at++) {
      const isNull = levels !== undefined && levels[at] !== 1;
      output.push(isNull ? null : this.#values[indexes[next++] ?? -1]); // RN2
    }
  }
}

/** Runs of equal values, and of values packed in `width` bits. */
class RunReader {
  readonly #bytes: Uint8Array;
  readonly #width: number;
  #at: number;
  #remaining = 0;
  #runValue = 0;
  /** The first byte of packed values, or null in a run of equal ones. */
  #packedStart: number | null = null;
  /** Bits of the packed values that were read. */
  #bitsRead = 0;

  constructor(bytes: Uint8Array, start: number, width: number) {
    this.#bytes = bytes;
    this.#at = start;
    this.#width = width;
  }

  /** Returns `count` values, or fewer at the end. */
  take(count: number): readonly number[] {
    const values: number[] = [];
    while (values.length < count) {
      if (this.#remaining === 0 && !this.#nextRun()) break;
      const length = Math.min(this.#remaining, count - values.length);
      if (this.#packedStart === null) repeat(this.#runValue, length, values);
      else this.#unpack(this.#packedStart, length, values);
      this.#remaining -= length;
    }
    return values;
  }

  /** Skips empty runs; false at the end of the bytes. */
  #nextRun(): boolean {
    if (this.#width === 0) {
      this.#remaining = Number.MAX_SAFE_INTEGER; // Zero bits hold the index zero, without runs.
      return true;
    }
    while (this.#remaining === 0) {
      if (this.#at >= this.#bytes.length) return false;
      const header = this.#readHeader();
      const packed = (header & 1) === 1;
      this.#remaining = packed ? (header >>> 1) * 8 : header >>> 1;
      this.#packedStart = packed ? this.#at : null;
      this.#bitsRead = 0;
      if (packed) this.#at += (header >>> 1) * this.#width;
      else this.#runValue = this.#readValue((this.#width + 7) >> 3);
    }
    return true;
  }

  #readHeader(): number {
    let header = 0;
    for (let shift = 0, byte = 0x80; byte & 0x80 && this.#at < this.#bytes.length; shift += 7) {
      byte = this.#bytes[this.#at++] ?? 0;
      header |= (byte & 0x7f) << shift;
    }
    return header;
  }

  #readValue(length: number): number {
    let value = 0;
    for (let index = 0; index < length; index++) {
      value += (this.#bytes[this.#at++] ?? 0) * 256 ** index;
    }
    return value;
  }

  #unpack(packedStart: number, count: number, values: number[]): void {
    const bytes = this.#bytes;
    const width = this.#width;
    let bit = this.#bitsRead;
    for (let index = 0; index < count; index++) {
      let value = 0;
      for (let got = 0; got < width; ) {
        const length = Math.min(8 - (bit & 7), width - got);
        const byte = bytes[packedStart + (bit >>> 3)];
        if (byte === undefined)
          value = Number.NaN; // RN2
        else value += ((byte >> (bit & 7)) & ((1 << length) - 1)) * 2 ** got;
        got += length;
        bit += length;
      }
      values.push(value);
    }
    this.#bitsRead = bit;
  }
}

function repeat(value: number, count: number, values: number[]): void {
  for (let index = 0; index < count; index++) values.push(value);
}

function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
