// Open reads: counts the reads of an object that a handler started and that are still pending.
//   N1. A handler that returns with a pending read has not awaited its own work, so effects are
//       missing. To commit the others would silently lose data, so the attempt fails.
//   N2. A read that is pending when the handler ends, with or without an error, never settles. No
//       caller awaits it, so a rejection would be unhandled and would end the process.
//   N3. A handler that closes a stream, for example by leaving its loop, wants no more of it. A
//       read ahead that is still in progress does not count.

import type { ObjectInput } from "../spec/pipeline-spec.ts";

export interface OpenReads {
  /** The same input, with its reads counted. */
  watch(input: ObjectInput<unknown>): ObjectInput<unknown>;
  /** Call it when the handler has ended. Returns the number of pending reads (N1, N2). */
  end(): number;
}

/** One read, or all reads of one stream. */
interface Reader {
  pending: number;
  /** The handler has ended: results are discarded (N2). */
  abandoned: boolean;
}

export function createOpenReads(): OpenReads {
  const readers = new Set<Reader>();

  function begin(): Reader {
    const reader: Reader = { pending: 0, abandoned: false };
    readers.add(reader);
    return reader;
  }

  function track<T>(reader: Reader, read: Promise<T>): Promise<T> {
    reader.pending += 1;
    return new Promise<T>((resolve, reject) => {
      read.then(
        (value) => {
          reader.pending -= 1;
          if (!reader.abandoned) resolve(value); // N2
        },
        (error: unknown) => {
          reader.pending -= 1;
          if (!reader.abandoned) reject(error); // N2
        },
      );
    });
  }

  function stream<T>(source: AsyncIterable<T>): AsyncIterableIterator<T> {
    const iterator = source[Symbol.asyncIterator]();
    const reader = begin();
    return {
      next: () => track(reader, iterator.next()),
      async return(value?: unknown) {
        readers.delete(reader); // N3
        await iterator.return?.();
        return { done: true, value };
      },
      [Symbol.asyncIterator]() {
        return this;
      },
    };
  }

  return {
    watch: (input) => ({
      ...input,
      rows: () => stream(input.rows()),
      bytes: () => stream(input.bytes()),
      text: () => track(begin(), input.text()),
    }),
    end() {
      const pending = [...readers].filter((reader) => reader.pending > 0);
      for (const reader of pending) reader.abandoned = true;
      readers.clear();
      return pending.length;
    },
  };
}
