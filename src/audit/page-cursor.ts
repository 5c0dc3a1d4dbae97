// Page cursor: a sorted list that is read page by page.
//   C1. At most two pages are in memory: the one that is read and the one that was requested ahead.
//   C2. `head` is synchronous while a page has items: a merge awaits once per page, not per item.
//   C3. `mark` remembers the page of `head`. A second reader that starts there sees `head` again,
//       and everything behind it.

/** One page of a list and the cursor of the next one; null after the last page. */
export interface SortedPage<T> {
  readonly items: readonly T[];
  readonly next: string | null;
}

export type ReadPage<T> = (after: string | null) => Promise<SortedPage<T>>;

export class PageCursor<T> {
  readonly #read: ReadPage<T>;
  readonly #isAhead: boolean;
  #items: readonly T[] = [];
  #at = 0;
  /** Where the present page starts; null: at the start of the list. */
  #pageStart: string | null;
  /** Where the next page starts; undefined: there is none. */
  #nextStart: string | null | undefined;
  #next: Promise<SortedPage<T>> | null = null;
  #marked: string | null;

  constructor(read: ReadPage<T>, start: string | null = null, { ahead = true } = {}) {
    this.#read = read;
    this.#isAhead = ahead;
    this.#pageStart = start;
    this.#nextStart = start;
    this.#marked = start;
    this.#request();
  }

  /** Whether `fill` has to run before `head` is true. */
  get needsPage(): boolean {
    return this.#at >= this.#items.length && this.#nextStart !== undefined;
  }

  /** The next item; undefined at the end (C2). */
  get head(): T | undefined {
    return this.#items[this.#at];
  }

  /** The start of the page that was marked last (C3). */
  get marked(): string | null {
    return this.#marked;
  }

  mark(): void {
    this.#marked = this.#pageStart; // C3
  }

  advance(): void {
    this.#at += 1;
  }

  /** Reads pages until there is an item or the list has ended. */
  async fill(): Promise<void> {
    while (this.needsPage) {
      const start = this.#nextStart ?? null;
      const { items, next } = await (this.#next ?? this.#read(start));
      this.#pageStart = start;
      this.#items = items;
      this.#at = 0;
      this.#next = null;
      this.#nextStart = next ?? undefined;
      if (next !== null) this.#request(); // C1
    }
  }

  #request(): void {
    if (!this.#isAhead) return;
    const page = this.#read(this.#nextStart ?? null);
    page.catch(() => undefined); // Reported by `fill`.
    this.#next = page;
  }
}
