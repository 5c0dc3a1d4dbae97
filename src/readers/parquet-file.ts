// Parquet file: gives hyparquet access to an object by ranges.
//   PF1. Only requested ranges are fetched, a few at a time.
//   PF2. A range outside the object, or too long to buffer, is rejected before it is fetched.
//   PF3. Errors of the source are recorded, to distinguish them from errors of hyparquet.

import type { AsyncBuffer } from "hyparquet";
import type { ByteSource } from "../ports/rows.ts";
import { cutShort } from "./open-source.ts";
import { describeBytes, PARQUET_RANGES_MAX, type RowLimits } from "./row-limits.ts";
import { unreadable } from "./unreadable.ts";

export interface ParquetFile {
  readonly buffer: AsyncBuffer;
  /** The first error of the source, if any (PF3). */
  sourceFailure(): { readonly error: unknown } | null;
}

export interface ParquetFileOptions {
  readonly name: string;
  readonly size: number;
  readonly limits: RowLimits;
  readonly signal: AbortSignal;
}

export function openParquetFile(source: ByteSource, options: ParquetFileOptions): ParquetFile {
  const { name, size, signal } = options;
  const slots: Promise<unknown>[] = Array.from({ length: PARQUET_RANGES_MAX }, async () => {});
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
    checkRange(start, end, options); // PF2
    const slot = turn++ % slots.length;
    const answer = (slots[slot] ?? Promise.resolve()).then(() => fetchRange(start, end)); // PF1
    slots[slot] = answer.catch(() => undefined);
    return answer;
  }

  return {
    buffer: {
      byteLength: size,
      slice(start, end) {
        const answer = (async () => slice(start, end))();
        // hyparquet ignores the other ranges once one has failed.
        answer.catch(() => undefined);
        return answer;
      },
    },
    sourceFailure: () => failure,
  };
}

function checkRange(start: number, end: number, { name, size, limits }: ParquetFileOptions): void {
  const whole = Number.isSafeInteger(start) && Number.isSafeInteger(end);
  if (!whole || start < 0 || end < start || end > size) {
    throw unreadable(name, "its footer points outside the object");
  }
  if (end - start <= limits.parquetGroupBytesMax) return;
  const max = describeBytes(limits.parquetGroupBytesMax);
  throw unreadable(name, `a part that must be read as a whole is longer than ${max}`);
}

/** Rejects with the signal's reason once it aborts, even if the source ignores the signal. */
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
