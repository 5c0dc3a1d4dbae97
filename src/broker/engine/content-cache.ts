// ContentCache: the bodies of messages that are likely to be asked for soon. Bounded in bytes: a
// backlog of millions stays on disk, while a consumer that keeps up never reads from it.
//   C1. It only ever holds what the store holds or is about to hold; losing an entry costs a read.
//   C2. The oldest goes first. Messages are mostly read once, soon after they came, so that which
//       one was used last says little.
//   C3. Message numbers only grow, so that a ring holds the last of them, and "the oldest" is found
//       by counting up from the last one that went. What is further behind than the ring is long
//       goes, too. (A Map that is added to and deleted from all
//       the time makes new tables, each known to the one before: the collector of young objects
//       then takes all that was ever in them for alive.)

import { assert } from "../../core/assert.ts";
import type { MessageContent } from "../../core/broker-change.ts";

/** What a cached message costs beside its text: the objects and the id. */
const OVERHEAD_BYTES = 250;
/** Messages that were deleted leave gaps, so that even a small cache needs some room. */
const RING_MIN = 1_024;

export class ContentCache {
  readonly #bytesMax: number;
  /** Message n is at n modulo the length; a power of two, with room for all that may be held. */
  readonly #ring: (MessageContent | undefined)[];
  readonly #mask: number;
  /** No entry has a smaller number than this. */
  #oldest: number;
  /** The number after the last one that was put. */
  #next: number;
  #bytes = 0;

  /** `from` is the first number that may be put. */
  constructor(bytesMax: number, from: number) {
    this.#bytesMax = bytesMax;
    const length = Math.max(RING_MIN, 2 ** Math.ceil(Math.log2(bytesMax / OVERHEAD_BYTES + 1)));
    this.#ring = new Array<MessageContent | undefined>(length).fill(undefined);
    this.#mask = length - 1;
    this.#oldest = from;
    this.#next = from;
  }

  get(seq: number): MessageContent | undefined {
    if (seq < this.#oldest || seq >= this.#next) return undefined;
    return this.#ring[seq & this.#mask];
  }

  put(seq: number, content: MessageContent): void {
    assert(seq >= this.#next, "message numbers grow"); // C3
    while (this.#oldest <= seq - this.#ring.length) this.#dropOldest();
    this.#ring[seq & this.#mask] = content;
    this.#next = seq + 1;
    this.#bytes += costOf(content);
    while (this.#bytes > this.#bytesMax) this.#dropOldest();
  }

  delete(seq: number): void {
    const content = this.get(seq);
    if (content === undefined) return;
    this.#ring[seq & this.#mask] = undefined;
    this.#bytes -= costOf(content);
  }

  #dropOldest(): void {
    this.delete(this.#oldest); // C2
    this.#oldest += 1;
  }
}

function costOf(content: MessageContent): number {
  return OVERHEAD_BYTES + content.body.length + (content.detail?.length ?? 0);
}
