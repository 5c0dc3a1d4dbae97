// Content blocks: a cache of recently read blocks. Receives from a FIFO queue with many groups
// alternate between distant blocks; the cache reads each from disk once, not once per message.
//   K1. A block never changes, and its numbers are never reused. A cached block stays valid while
//       its messages live, which this file does not check.
//   K2. The cache is bounded by count and by text; the block added last always stays.

import type { MessageContent } from "../../../ports/broker/broker-change.ts";
import type { BlockContents } from "./message-block.ts";
import { contentIn } from "./message-block.ts";

export const BLOCKS_CACHED_MAX = 32;
/** UTF-16 units. */
export const TEXT_CACHED_MAX = 1_024 * 1_024;

export class ContentBlocks {
  /** Oldest first. */
  readonly #blocks: BlockContents[] = [];
  #units = 0;

  find(seq: number): MessageContent | undefined {
    const blocks = this.#blocks;
    for (let at = blocks.length - 1; at >= 0; at -= 1) {
      const content = contentIn(blocks[at] as BlockContents, seq);
      if (content !== undefined) return content;
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
    return length > BLOCKS_CACHED_MAX || (length > 1 && this.#units > TEXT_CACHED_MAX);
  }
}
