// Parquet file: an object as hyparquet wants to see it, by ranges.
//   PF1. Only what is asked for is fetched, a few ranges at a time, and each once per row group.
//   PF2. A range outside the object, or too long to hold, is refused before it is fetched.
//   PF3. What the source throws is remembered, so that it is told apart from what hyparquet throws.

import type { AsyncBuffer } from "hyparquet";
import type { ByteSource } from "../ports/rows.ts";
import { cutShort } from "./open-source.ts";
import { describeBytes, PARQUET_RANGES_MAX, type RowLimits } from "./row-limits.ts";
import { unreadable } from "./unreadable.ts";

export interface ParquetFile {
  readonly buffer: AsyncBuffer;
  /** What the source threw first, if it did (PF3). */
  sourceFailure(): { readonly error: unknown } | null;
  /** Drops what was fetched; called after each row group. */
  forget(): void;
}

export interface ParquetFileOptions {
  readonly name: string;
  readonly size: number;
  readonly limits: RowLimits;
  readonly signal: AbortSignal;
}

export function openParquetFile(source: ByteSource, options: ParquetFileOptions): ParquetFile {
  const { name, size, limits, signal } = options;
  const lanes: Promise<unknown>[] = Array.from({ length: PARQUET_RANGES_MAX }, async () => {});
  const fetched = new Map<string, Promise<ArrayBuffer>>();
  let failure: { readonly error: unknown } | null = null;
  let turn = 0;

  async function fetchRange(start: number, end: number): Promise<ArrayBuffer> {
    try {
      const bytes = await untilAborted(signal, () => source.range(start, end, signal));
      if (bytes.length !== end - start) throw cutShort(name, bytes.length, end - start);
      return exactBuffer(bytes);
    } catch (error) {
      failure ??= { error };
      throw error;
    }
  }

  function slice(start: number, end: number = size): Promise<ArrayBuffer> {
    checkRange(start, end); // PF2
    const key = `${start}-${end}`;
    const known = fetched.get(key);
    if (known !== undefined) return known;
    const lane = turn++ % lanes.length;
    const answer = (lanes[lane] ?? Promise.resolve()).then(() => fetchRange(start, end)); // PF1
    lanes[lane] = answer.catch(() => undefined);
    fetched.set(key, answer);
    return answer;
  }

  function checkRange(start: number, end: number): void {
    const inside = Number.isSafeInteger(start) && Number.isSafeInteger(end);
    if (!inside || start < 0 || end < start || end > size) {
      throw unreadable(name, "its footer points outside the object");
    }
    if (end - start <= limits.parquetGroupBytesMax) return;
    const max = describeBytes(limits.parquetGroupBytesMax);
    throw unreadable(name, `a part of it that is read at once is longer than ${max}`);
  }

  return {
    // An async function, so that a refusal is a rejection here as well.
    buffer: { byteLength: size, slice: async (start, end) => slice(start, end) },
    sourceFailure: () => failure,
    forget: () => fetched.clear(),
  };
}

/** The answer, or the signal's reason once it is aborted, even if the source does not heed it. */
function untilAborted<T>(signal: AbortSignal, ask: () => Promise<T>): Promise<T> {
  signal.throwIfAborted();
  return new Promise((resolve, reject) => {
    const stop = () => reject(signal.reason);
    signal.addEventListener("abort", stop, { once: true });
    const leave = () => signal.removeEventListener("abort", stop);
    ask().then(resolve, reject).finally(leave);
  });
}

function exactBuffer(bytes: Uint8Array): ArrayBuffer {
  const { buffer, byteLength } = bytes;
  if (buffer instanceof ArrayBuffer && byteLength === buffer.byteLength) return buffer;
  return new Uint8Array(bytes).buffer;
}
