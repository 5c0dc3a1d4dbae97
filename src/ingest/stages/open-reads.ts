// Open reads: what a handler asked for of its object and has not got yet.
//   N1. A handler that ends while it waits for more has forgotten to wait for its own work: what
//       that would have made of the object is missing among the effects. To commit them would lose
//       it without a word, so the attempt has failed.
//   N2. What is left waiting when it ends, well or not, is never answered. Nobody waits for it, so
//       an error would have nobody to tell but the process, which it would end.
//   N3. Whoever closes a stream, by leaving its loop for one, asks for no more, although a read
//       ahead may be under way.

import type { ObjectInput } from "../spec/pipeline-spec.ts";

export interface OpenReads {
  /** The same arrival, whose reads are counted. */
  watch(arrival: ObjectInput<unknown>): ObjectInput<unknown>;
  /** The handler has ended: how many reads it left waiting (N1, N2). */
  end(): number;
}

/** A read, or all of one stream. */
interface Reader {
  /** Reads under way. */
  waiting: number;
  /** Nobody is to hear of those. */
  left: boolean;
}

export function createOpenReads(): OpenReads {
  const readers = new Set<Reader>();

  function begin(): Reader {
    const reader: Reader = { waiting: 0, left: false };
    readers.add(reader);
    return reader;
  }

  function answer<T>(reader: Reader, coming: Promise<T>): Promise<T> {
    reader.waiting += 1;
    return new Promise<T>((resolve, reject) => {
      coming.then(
        (value) => {
          reader.waiting -= 1;
          if (!reader.left) resolve(value); // N2
        },
        (error: unknown) => {
          reader.waiting -= 1;
          if (!reader.left) reject(error); // N2
        },
      );
    });
  }

  function stream<T>(source: AsyncIterable<T>): AsyncIterableIterator<T> {
    const iterator = source[Symbol.asyncIterator]();
    const reader = begin();
    return {
      next: () => answer(reader, iterator.next()),
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
    watch: (arrival) => ({
      ...arrival,
      rows: () => stream(arrival.rows()),
      bytes: () => stream(arrival.bytes()),
      text: () => answer(begin(), arrival.text()),
    }),
    end() {
      const waiting = [...readers].filter((reader) => reader.waiting > 0);
      for (const reader of waiting) reader.left = true;
      readers.clear();
      return waiting.length;
    },
  };
}
