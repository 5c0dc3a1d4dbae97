// SharedSync: one sync for all who wait for it.
//   Y1. Whoever asks is served by a sync that began after the asking; one that is under way came
//       too early for it.

export class SharedSync {
  readonly #sync: () => Promise<void>;
  #running: Promise<void> | null = null;
  #next: Promise<void> | null = null;

  constructor(sync: () => Promise<void>) {
    this.#sync = sync;
  }

  /** Resolves once everything that was done before this call is synced. */
  done(): Promise<void> {
    this.#next ??= this.#begin(this.#running);
    return this.#next;
  }

  async #begin(before: Promise<void> | null): Promise<void> {
    // Those who ask before the one under way has ended share the next one (Y1).
    await before?.catch(() => undefined);
    this.#running = this.#next;
    this.#next = null;
    await this.#sync();
  }
}
