// Byte cursor: a stream of chunks that can be peeked into before it is read.
//   B1. Bytes are returned once and in order, whatever was peeked at or given back.
//   B2. A chunk is never empty; null is the end.
//   B3. Nothing is read ahead of the request.

import { Buffer } from "node:buffer";

export class ByteCursor {
  readonly #iterator: AsyncIterator<Uint8Array>;
  #held: Uint8Array | null = null;

  constructor(chunks: AsyncIterable<Uint8Array>) {
    this.#iterator = chunks[Symbol.asyncIterator]();
  }

  async take(): Promise<Uint8Array | null> {
    if (this.#held !== null) {
      const held = this.#held;
      this.#held = null;
      return held;
    }
    while (true) {
      const { done, value } = await this.#iterator.next();
      if (done) return null;
      if (value.length > 0) return value; // B2
    }
  }

  /** Returns bytes to the front of the stream. */
  giveBack(bytes: Uint8Array): void {
    if (bytes.length === 0) return;
    this.#held = this.#held === null ? bytes : Buffer.concat([bytes, this.#held]);
  }

  /** Peeks at the first `count` bytes, or at all if there are fewer. */
  async peek(count: number): Promise<Uint8Array> {
    const parts: Uint8Array[] = [];
    let length = 0;
    while (length < count) {
      const chunk = await this.take();
      if (chunk === null) break;
      parts.push(chunk);
      length += chunk.length;
    }
    const [only] = parts;
    const all = only !== undefined && parts.length === 1 ? only : Buffer.concat(parts);
    this.giveBack(all); // B1
    return all.subarray(0, count);
  }

  /** Closes the stream and drops buffered bytes. */
  async close(): Promise<void> {
    this.#held = null;
    await this.#iterator.return?.();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
    try {
      for (let chunk = await this.take(); chunk !== null; chunk = await this.take()) yield chunk;
    } finally {
      await this.close();
    }
  }
}
