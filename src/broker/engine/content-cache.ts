// ContentCache: the bodies of messages that are likely to be asked for soon. Bounded in bytes: a
// backlog of millions stays on disk, while a consumer that keeps up never reads from it.
//   C1. It only ever holds what the store holds or is about to hold; losing an entry costs a read.
//   C2. The oldest goes first. Messages are mostly read once, soon after they came, so that which
//       one was used last says little.

import type { MessageContent } from "../../core/broker-change.ts";

/** What a cached message costs beside its text: the entry, the objects and the id. */
const OVERHEAD_BYTES = 250;

export class ContentCache {
  readonly #entries = new Map<number, MessageContent>();
  readonly #bytesMax: number;
  #bytes = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  get(seq: number): MessageContent | undefined {
    return this.#entries.get(seq);
  }

  put(seq: number, content: MessageContent): void {
    this.delete(seq);
    this.#entries.set(seq, content);
    this.#bytes += costOf(content);
    if (this.#bytes <= this.#bytesMax) return;
    for (const oldest of this.#entries.keys()) {
      this.delete(oldest); // C2
      if (this.#bytes <= this.#bytesMax) return;
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
