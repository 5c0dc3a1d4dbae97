// Recent blocks: the contents of the blocks that were written last, as they were written. Most
// messages are received soon after they came; those are not read from disk, and cost one string a
// block in memory, not three objects a message.
//   N1. A block never changes, and its numbers are never given again (see message-block.ts). One
//       that is kept tells the truth for as long as its messages live, which is not asked here.
//   N2. What is kept is bounded by text and by pages; the oldest page goes first. Numbers grow, so
//       that a ring of pages finds a block without a search, and without a Map whose tables would
//       grow and go all the time (which the collector of young objects takes badly).

import type { MessageContent } from "../../../core/broker-change.ts";
import { type BlockContents, type BlockRows, contentIn, openContents } from "./message-block.ts";
import { pageOf } from "./receipt-pages.ts";

/** UTF-16 units. */
export const RECENT_TEXT_MAX = 4 * 1_024 * 1_024;
/** A power of two. */
export const RECENT_PAGES_MAX = 1_024;

type Contents = Pick<BlockRows, "first" | "count" | "lengths" | "text">;

interface RecentBlock {
  readonly rows: Contents;
  /** Opened when somebody first asks for one of its messages. */
  contents: BlockContents | null;
}

interface RecentPage {
  readonly number: number;
  readonly blocks: RecentBlock[];
}

export class RecentBlocks {
  readonly #ring = new Array<RecentPage | undefined>(RECENT_PAGES_MAX).fill(undefined);
  /** No page that is kept has a smaller number than the first, or a larger one than the last. */
  #firstPage = 0;
  #lastPage = -1;
  #units = 0;

  add({ first, count, lengths, text }: Contents): void {
    const number = pageOf(first);
    if (number < this.#firstPage && this.#lastPage >= 0) return; // Has gone already: too old.
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

  /** Nobody will ask for a message of this page again. */
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
