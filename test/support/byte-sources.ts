// Byte sources: in-memory objects that are read in any pieces and record how they were read.

import type { CsvOptions } from "../../src/core/csv-format.ts";
import { systemPorts } from "../../src/platform/index.ts";
import type { ByteSource, NumberedRow, Row, RowFormat } from "../../src/ports/rows.ts";
import type { RowLimits } from "../../src/readers/row-limits.ts";
import { createRowReader } from "../../src/readers/row-reader.ts";

export interface WatchedSource extends ByteSource {
  /** The number of streams that were opened, and of those that were closed again. */
  readonly opened: () => number;
  readonly closed: () => number;
  readonly rangeBytes: () => number;
  readonly rangesAtOnce: () => number;
}

/** Yields chunks of the given lengths, in turn; 0 yields an empty chunk. */
export function sourceOf(bytes: Uint8Array, lengths: readonly number[] = [65_536]): WatchedSource {
  let opened = 0;
  let closed = 0;
  let rangeBytes = 0;
  let inFlight = 0;
  let atOnce = 0;
  async function* stream(): AsyncGenerator<Uint8Array> {
    opened++;
    try {
      for (let at = 0, turn = 0; at < bytes.length; turn++) {
        const length = lengths[turn % lengths.length] ?? 1;
        yield bytes.subarray(at, at + length);
        at += length;
      }
    } finally {
      closed++;
    }
  }
  return {
    size: bytes.length,
    stream,
    async range(start, end) {
      atOnce = Math.max(atOnce, ++inFlight);
      rangeBytes += end - start;
      await Promise.resolve();
      inFlight--;
      return bytes.subarray(start, end);
    },
    opened: () => opened,
    closed: () => closed,
    rangeBytes: () => rangeBytes,
    rangesAtOnce: () => atOnce,
  };
}

/** A source that yields `chunks` and then fails. */
export function failingSource(chunks: readonly Uint8Array[], error: unknown): ByteSource {
  return {
    size: null,
    async *stream() {
      yield* chunks;
      throw error;
    },
    range: () => Promise.reject(error),
  };
}

/** A source whose second read never ends, like a stalled connection; it then calls `onHang`. */
export function hangingSource(first: Uint8Array, onHang: () => void) {
  const state = { signal: undefined as AbortSignal | undefined, returned: false };
  let reads = 0;
  const iterator: AsyncIterator<Uint8Array> = {
    next() {
      if (reads++ === 0) return Promise.resolve({ done: false, value: first });
      queueMicrotask(onHang);
      return new Promise(() => {});
    },
    async return() {
      state.returned = true;
      return { done: true, value: undefined };
    },
  };
  const source: ByteSource = {
    size: null,
    stream(signal) {
      state.signal = signal;
      return { [Symbol.asyncIterator]: () => iterator };
    },
    range: () => new Promise(() => {}),
  };
  return { source, state };
}

export async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
}

export interface ReadOptions {
  readonly name?: string;
  readonly format?: RowFormat | "auto";
  readonly lengths?: readonly number[];
  readonly limits?: Partial<RowLimits>;
  readonly csv?: CsvOptions;
}

export async function readAll(
  content: Uint8Array | string,
  options: ReadOptions = {},
): Promise<NumberedRow[]> {
  const bytes = typeof content === "string" ? Buffer.from(content) : content;
  const { name = "object", format = "auto", limits = {}, csv = {}, lengths } = options;
  const { signal } = new AbortController();
  const source = sourceOf(bytes, lengths);
  const reader = createRowReader(systemPorts, limits);
  return collect(reader.read(source, { name, format, csv, signal }));
}

export async function readValues(
  content: Uint8Array | string,
  options: ReadOptions = {},
): Promise<Row[]> {
  return (await readAll(content, options)).map(({ value }) => value);
}

/** Returns the message of TG_OBJECT_UNREADABLE; rethrows any other error. */
export async function refusalOf(
  content: Uint8Array | string,
  options: ReadOptions = {},
): Promise<string> {
  try {
    await readAll(content, options);
  } catch (error) {
    if ((error as { code?: string }).code === "TG_OBJECT_UNREADABLE") {
      return (error as Error).message;
    }
    throw error;
  }
  throw new Error("the content was readable");
}
