// IndexedHeap: items ordered by a key that may change; each item knows its index.

/** An item of a heap: `position` is its index plus one, 0 while it is in no heap. */
export interface HeapEntry {
  position: number;
}

export class IndexedHeap<T extends HeapEntry> {
  readonly #items: T[] = [];
  readonly #before: (a: T, b: T) => boolean;

  constructor(before: (a: T, b: T) => boolean) {
    this.#before = before;
  }

  get top(): T | undefined {
    return this.#items[0];
  }

  push(item: T): void {
    this.#items.push(item);
    this.#rise(this.#items.length - 1, item);
  }

  remove(item: T): void {
    const index = item.position - 1;
    item.position = 0;
    const last = this.#items.pop() as T;
    if (last !== item) this.#restore(index, last);
  }

  /** Call after the key of an item in the heap has changed. */
  update(item: T): void {
    this.#restore(item.position - 1, item);
  }

  #restore(index: number, item: T): void {
    const parent = (index - 1) >>> 1;
    if (index > 0 && this.#before(item, this.#items[parent] as T)) this.#rise(index, item);
    else this.#sink(index, item);
  }

  #put(index: number, item: T): void {
    this.#items[index] = item;
    item.position = index + 1;
  }

  #rise(start: number, item: T): void {
    let index = start;
    while (index > 0) {
      const parent = (index - 1) >>> 1;
      const above = this.#items[parent] as T;
      if (!this.#before(item, above)) break;
      this.#put(index, above);
      index = parent;
    }
    this.#put(index, item);
  }

  #sink(start: number, item: T): void {
    const length = this.#items.length;
    let index = start;
    for (let child = 2 * index + 1; child < length; child = 2 * index + 1) {
      const right = child + 1;
      const below =
        right < length && this.#before(this.#items[right] as T, this.#items[child] as T)
          ? right
          : child;
      if (!this.#before(this.#items[below] as T, item)) break;
      this.#put(index, this.#items[below] as T);
      index = below;
    }
    this.#put(index, item);
  }
}
