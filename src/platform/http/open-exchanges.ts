// Open exchanges: the exchanges in progress, for checks that visit all of them.
//   O1. It is an array in which the last entry fills a hole, and not a Set. A Set with many
//       additions and deletions allocates a new table every few dozen requests, and each old table
//       references its successor. Once one table is promoted, the young-generation collector treats
//       all later tables, with their exchanges, as alive, and copies them.

/** `index` is the position in the array; -1 if the exchange is not in it. */
export interface Indexed {
  index: number;
}

export class OpenExchanges<T extends Indexed> implements Iterable<T> {
  readonly #all: T[] = [];

  add(exchange: T): void {
    exchange.index = this.#all.length;
    this.#all.push(exchange);
  }

  /** Does nothing if the exchange is not in the collection. */
  delete(exchange: T): void {
    const { index } = exchange;
    if (this.#all[index] !== exchange) return;
    exchange.index = -1;
    const last = this.#all.pop() as T;
    if (last === exchange) return;
    this.#all[index] = last; // O1
    last.index = index;
  }

  /** Iterates over a snapshot. */
  [Symbol.iterator](): Iterator<T> {
    return [...this.#all][Symbol.iterator]();
  }
}
