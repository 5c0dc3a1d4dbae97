// Open source: one stream of an object, under a signal, until it is closed.
//   O1. Aborting or closing ends the stream immediately: the source's signal is aborted and its
//       iterator returned, even while a read hangs.
//   O2. Errors of the source are thrown unchanged; after an abort the signal's reason is thrown.
//   O3. A stream with more or fewer bytes than the object has is a failure of the source: half of a
//       CSV file is a valid CSV file, and no later stage would notice.

import { TidegateError } from "../core/errors.ts";
import type { ByteSource } from "../ports/rows.ts";
import { CHUNK_BYTES_MAX } from "./row-limits.ts";

export interface OpenSource {
  readonly chunks: AsyncIterable<Uint8Array>;
  close(): Promise<void>;
}

export function openSource(source: ByteSource, name: string, signal: AbortSignal): OpenSource {
  signal.throwIfAborted();
  const stopping = new AbortController();
  const iterator = source.stream(stopping.signal)[Symbol.asyncIterator]();
  let failPending: ((reason: unknown) => void) | null = null;
  let closing: Promise<void> | null = null;

  async function end(): Promise<void> {
    signal.removeEventListener("abort", onAbort);
    const fail = failPending;
    stopping.abort(signal.aborted ? signal.reason : undefined);
    fail?.(stopping.signal.reason); // O2
    // The caller no longer waits for this stream, so its failures and its end are ignored.
    const returned = Promise.resolve(iterator.return?.()).catch(() => undefined);
    if (fail === null) await returned; // O1: behind a hanging read, it would wait forever.
  }

  function close(): Promise<void> {
    closing ??= end();
    return closing;
  }

  function onAbort(): void {
    void close();
  }

  function next(): Promise<IteratorResult<Uint8Array>> {
    return new Promise((resolve, reject) => {
      failPending = reject;
      const settle = () => {
        failPending = null;
      };
      iterator.next().then(resolve, reject).finally(settle);
    });
  }

  async function* chunks(): AsyncGenerator<Uint8Array> {
    let total = 0;
    while (true) {
      signal.throwIfAborted();
      const { done, value } = await next();
      if (done) break;
      total += value.length;
      for (let at = 0; at < value.length; at += CHUNK_BYTES_MAX) {
        yield value.subarray(at, at + CHUNK_BYTES_MAX);
      }
    }
    if (source.size !== null && total !== source.size) {
      throw cutShort(name, total, source.size); // O3
    }
  }

  signal.addEventListener("abort", onAbort, { once: true });
  return { chunks: chunks(), close };
}

export function cutShort(name: string, got: number, wanted: number): TidegateError {
  const message = `${name}: the source returned ${got} bytes, expected ${wanted}`;
  return new TidegateError("TG_OBJECTS_UNAVAILABLE", message);
}
