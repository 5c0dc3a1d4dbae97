// ContentCache: the bodies of messages that are likely to be read soon. It is bounded in bytes: a
// backlog of millions stays on disk, while a consumer that keeps up never reads from disk.
//   C1. It only holds what the store holds or is about to hold; losing an entry costs one read.
//   C2. The oldest entry is evicted first. Most messages are read once, soon after they arrive, so
//       the time of the last use says little.
//   C3. Message numbers only grow, so a ring holds the latest, and the oldest is found by counting
//       up. Entries that are further behind than the ring is long are evicted, too. (A Map with
//       constant inserts and deletes keeps creating tables that refer to each other, and the young
//       generation's collector then treats everything that was ever in them as alive.)

import { assert } from "../../core/assert.ts";
import type { MessageContent } from "../../ports/broker/broker-change.ts";

/** The cost of a cached message apart from its text: the objects and the id. */
const OVERHEAD_BYTES = 250;
/** Deleted messages leave gaps, so even a small cache needs a ring of this length. */
const RING_MIN = 1_024;

export class ContentCache {
  readonly #bytesMax: number;
  /** Message n is at n modulo the length, which is a power of two and fits the whole cache. */
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
    assert(this.#bytes >= 0, "the cache counts the bytes that it holds");
  }

  #dropOldest(): void {
    this.delete(this.#oldest); // C2
    this.#oldest += 1;
  }
}

function costOf(content: MessageContent): number {
  return OVERHEAD_BYTES + content.body.length + (content.detail?.length ?? 0);
}
