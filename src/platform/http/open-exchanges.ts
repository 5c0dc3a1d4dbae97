// Open exchanges: those that are not over yet, for whoever has to look at all of them.
//   O1. An array whose holes are filled by its last, and not a Set: a Set that is added to and
//       deleted from all the time makes a new table every few dozen requests, and each old table
//       points to its successor. Once one of them is promoted, the collector of young objects takes
//       all that follow, with the exchanges in them, for alive, and copies them around.

/** Where an exchange stands in the array; -1 while it does not. */
export interface Indexed {
  place: number;
}

export class OpenExchanges<T extends Indexed> implements Iterable<T> {
  readonly #all: T[] = [];

  add(exchange: T): void {
    exchange.place = this.#all.length;
    this.#all.push(exchange);
  }

  /** Does nothing if it is not among them. */
  delete(exchange: T): void {
    const { place } = exchange;
    if (this.#all[place] !== exchange) return;
    exchange.place = -1;
    const last = this.#all.pop() as T;
    if (last === exchange) return;
    this.#all[place] = last; // O1
    last.place = place;
  }

  /** As they were at this moment, whoever comes or goes meanwhile. */
  [Symbol.iterator](): Iterator<T> {
    return [...this.#all][Symbol.iterator]();
  }
}
