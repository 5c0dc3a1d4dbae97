// Page cursor: a sorted list that is read page by page, with the next page requested ahead.
//   C1. At most two pages are in memory: the one that is read and the one that was requested.
//   C2. `head` is synchronous while a page has items: a merge awaits once per page, not per item.

/** One page of a list and the cursor of the next one; null after the last page. */
export interface SortedPage<T> {
  readonly items: readonly T[];
  readonly next: string | null;
}

export class PageCursor<T> {
  readonly #read: (after: string | null) => Promise<SortedPage<T>>;
  #items: readonly T[] = [];
  #at = 0;
  #next: Promise<SortedPage<T>> | null;

  constructor(read: (after: string | null) => Promise<SortedPage<T>>) {
    this.#read = read;
    this.#next = this.#request(null);
  }

  /** Whether `fill` has to run before `head` is true. */
  get needsPage(): boolean {
    return this.#at >= this.#items.length && this.#next !== null;
  }

  /** The next item; undefined at the end (C2). */
  get head(): T | undefined {
    return this.#items[this.#at];
  }

  advance(): void {
    this.#at += 1;
  }

  /** Reads pages until there is an item or the list has ended. */
  async fill(): Promise<void> {
    while (this.#at >= this.#items.length && this.#next !== null) {
      const { items, next } = await this.#next;
      this.#items = items;
      this.#at = 0;
      this.#next = next === null ? null : this.#request(next); // C1
    }
  }

  #request(after: string | null): Promise<SortedPage<T>> {
    const page = this.#read(after);
    page.catch(() => undefined); // Reported by `fill`.
    return page;
  }
}
