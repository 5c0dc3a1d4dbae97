// Shared sync: one sync for all callers that wait for it.
//   Y1. A sync that starts after the call serves the caller; a sync already in progress is too
//       early.

export class SharedSync {
  readonly #sync: () => Promise<void>;
  #running: Promise<void> | null = null;
  #next: Promise<void> | null = null;

  constructor(sync: () => Promise<void>) {
    this.#sync = sync;
  }

  /** Resolves once everything written before this call is synced. */
  done(): Promise<void> {
    this.#next ??= this.#begin(this.#running);
    return this.#next;
  }

  async #begin(before: Promise<void> | null): Promise<void> {
    // Callers that arrive during the current sync share the next one (Y1).
    await before?.catch(() => undefined);
    this.#running = this.#next;
    this.#next = null;
    await this.#sync();
  }
}
