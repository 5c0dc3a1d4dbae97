// Content blocks: those read lately, opened. Whoever receives from a FIFO queue of many groups goes
// back and forth between blocks that lie far apart; each is read from disk once, and not once for
// every message.
//   K1. A block never changes, and its numbers are never given again: one that is kept tells the
//       truth for as long as its messages live, which is not asked here.
//   K2. What is kept is bounded by count and by text; the one added last is kept in any case.

import type { MessageContent } from "../../../core/broker-change.ts";
import type { BlockContents } from "./message-block.ts";
import { contentIn } from "./message-block.ts";

export const BLOCKS_KEPT_MAX = 32;
/** UTF-16 units. */
export const TEXT_KEPT_MAX = 1_024 * 1_024;

export class ContentBlocks {
  /** Oldest first. */
  readonly #blocks: BlockContents[] = [];
  #units = 0;

  find(seq: number): MessageContent | undefined {
    const blocks = this.#blocks;
    for (let at = blocks.length - 1; at >= 0; at -= 1) {
      const found = contentIn(blocks[at] as BlockContents, seq);
      if (found !== undefined) return found;
    }
    return undefined;
  }

  add(block: BlockContents): void {
    this.#blocks.push(block);
    this.#units += block.text.length;
    while (this.#isTooMuch()) this.#units -= this.#blocks.shift()?.text.length ?? 0; // K2
  }

  #isTooMuch(): boolean {
    const { length } = this.#blocks;
    return length > BLOCKS_KEPT_MAX || (length > 1 && this.#units > TEXT_KEPT_MAX);
  }
}
