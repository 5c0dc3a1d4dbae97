// Once: what is opened when it is first needed.

/** The result of an opening. A failed one is forgotten, and the next call tries again. */
export class Once<T> {
  #opening: Promise<T> | null = null;

  /** Null if it is not open, and no call opens it. */
  get opening(): Promise<T> | null {
    return this.#opening;
  }

  /** Opens it unless it is open; a result that `keeps` rejects is used by these callers only. */
  get(open: () => Promise<T>, keeps: (result: T) => boolean = () => true): Promise<T> {
    this.#opening ??= this.#open(open, keeps);
    return this.#opening;
  }

  async #open(open: () => Promise<T>, keeps: (result: T) => boolean): Promise<T> {
    let isKept = false;
    try {
      const result = await Promise.resolve().then(open); // Later: it may throw at once.
      isKept = keeps(result);
      return result;
    } finally {
      if (!isKept) this.#opening = null;
    }
  }
}
