// Recent blocks: the contents of the most recently written blocks. Most messages are received soon
// after they arrive. This cache serves them without a disk read, at one string per block instead of
// three objects per message.
//   N1. A block never changes, and its numbers are never reused (see message-block.ts). A cached
//       block stays valid while its messages live, which this file does not check.
//   N2. The cache is bounded by text and by pages; the oldest page goes first. Numbers grow, so a
//       ring of pages finds a block without a search. It also avoids a Map whose tables would grow
//       and shrink all the time, which burdens the garbage collector.

import type { MessageContent } from "../../../ports/broker/broker-change.ts";
import { type BlockContents, type BlockRows, contentIn, openContents } from "./message-block.ts";
import { pageOf } from "./receipt-pages.ts";

/** UTF-16 units. */
export const RECENT_TEXT_MAX = 4 * 1_024 * 1_024;
/** A power of two. */
export const RECENT_PAGES_MAX = 1_024;

type Contents = Pick<BlockRows, "first" | "count" | "lengths" | "text">;

interface RecentBlock {
  readonly rows: Contents;
  /** Opened at the first read of one of its messages. */
  contents: BlockContents | null;
}

interface RecentPage {
  readonly number: number;
  readonly blocks: RecentBlock[];
}

export class RecentBlocks {
  readonly #ring = new Array<RecentPage | undefined>(RECENT_PAGES_MAX).fill(undefined);
  /** Cached pages have numbers from the first to the last. */
  #firstPage = 0;
  #lastPage = -1;
  #units = 0;

  add({ first, count, lengths, text }: Contents): void {
    const number = pageOf(first);
    if (number < this.#firstPage && this.#lastPage >= 0) return; // Already evicted: too old.
    if (this.#lastPage < 0) this.#firstPage = number;
    this.#lastPage = Math.max(this.#lastPage, number);
    while (this.#firstPage <= this.#lastPage - RECENT_PAGES_MAX) this.#dropFirst(); // N2
    let page = this.#pageAt(number);
    if (page === undefined) {
      page = { number, blocks: [] };
      this.#ring[number % RECENT_PAGES_MAX] = page;
    }
    page.blocks.push({ rows: { first, count, lengths, text }, contents: null });
    this.#units += text.length;
    while (this.#units > RECENT_TEXT_MAX) this.#dropFirst(); // N2
  }

  find(seq: number): MessageContent | undefined {
    for (const block of this.#pageAt(pageOf(seq))?.blocks ?? []) {
      const { first, count } = block.rows;
      if (seq < first || seq >= first + count) continue;
      block.contents ??= openContents(block.rows);
      return contentIn(block.contents, seq);
    }
    return undefined;
  }

  /** No message of this page will be read again. */
  dropPage(number: number): void {
    const page = this.#pageAt(number);
    if (page === undefined) return;
    this.#ring[number % RECENT_PAGES_MAX] = undefined;
    for (const { rows } of page.blocks) this.#units -= rows.text.length;
  }

  #pageAt(number: number): RecentPage | undefined {
    const page = this.#ring[number % RECENT_PAGES_MAX];
    return page?.number === number ? page : undefined;
  }

  #dropFirst(): void {
    this.dropPage(this.#firstPage);
    this.#firstPage += 1;
  }
}
