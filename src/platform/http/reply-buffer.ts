// Reply buffer: counts the bytes of long replies that clients have not read yet.
//   U1. Only replies that are sent in pieces count. A shorter one is at most one piece per
//       connection.
//   U2. While it is full, the broker delivers no messages (ports/http/reply-space.ts), and a client
//       that reads too slowly is cut off. Its messages become visible again after their timeout.

import { assert } from "../../core/assert.ts";
import type { ReplySpace } from "../../ports/http/reply-space.ts";

/** Longer replies are written in pieces of this size. */
export const PIECE_BYTES = 64 * 1_024;
const REPLIES_BYTES_MAX = 32 * 1_024 * 1_024;

export class ReplyBuffer implements ReplySpace {
  readonly #bytesMax: number;
  #bytes = 0;
  onSpace = (): void => {};

  constructor(bytesMax = REPLIES_BYTES_MAX) {
    this.#bytesMax = bytesMax;
  }

  get isFull(): boolean {
    return this.#bytes >= this.#bytesMax;
  }

  add(bytes: number): void {
    this.#bytes += bytes;
  }

  /** The client has read the reply, or has disconnected. */
  remove(bytes: number): void {
    const wasFull = this.isFull;
    this.#bytes -= bytes;
    assert(this.#bytes >= 0, "a reply leaves the buffer once (U1)");
    if (wasFull && !this.isFull) this.onSpace(); // U2
  }
}
