// ContentCache: the bodies of messages that are likely to be asked for soon. Bounded in bytes: a
// backlog of millions stays on disk, while a consumer that keeps up never reads from it.
//   C1. It only ever holds what the store holds or is about to hold; losing an entry costs a read.
//   C2. The oldest goes first. Messages are mostly read once, soon after they came, so that which
//       one was used last says little.
//   C3. Message numbers only grow, so that "the oldest" is found by counting up from the last one
//       that went. (Taking the first key of a Map is slow once many before it were deleted.)

import type { MessageContent } from "../../core/broker-change.ts";

/** What a cached message costs beside its text: the entry, the objects and the id. */
const OVERHEAD_BYTES = 250;

export class ContentCache {
  readonly #entries = new Map<number, MessageContent>();
  readonly #bytesMax: number;
  /** No entry has a smaller number than this. */
  #oldest: number;
  #bytes = 0;

  /** `from` is the first number that may be put. */
  constructor(bytesMax: number, from: number) {
    this.#bytesMax = bytesMax;
    this.#oldest = from;
  }

  get(seq: number): MessageContent | undefined {
    return this.#entries.get(seq);
  }

  put(seq: number, content: MessageContent): void {
    this.#entries.set(seq, content);
    this.#bytes += costOf(content);
    while (this.#bytes > this.#bytesMax) {
      this.delete(this.#oldest); // C2
      this.#oldest += 1; // C3
    }
  }

  delete(seq: number): void {
    const content = this.#entries.get(seq);
    if (content === undefined) return;
    this.#entries.delete(seq);
    this.#bytes -= costOf(content);
  }
}

function costOf(content: MessageContent): number {
  return OVERHEAD_BYTES + content.body.length + (content.detail?.length ?? 0);
}
