// RecentWork: the processing time used lately, in two windows of a minute: the current one and the
// previous one. Integers only, so that every machine computes the same result.

const WINDOW_MS = 60_000;

export class RecentWork {
  #window = 0;
  #currentMs = 0;
  #previousMs = 0;

  add(now: number, workedMs: number): void {
    this.#turnTo(now);
    this.#currentMs += workedMs;
  }

  recent(now: number): number {
    this.#turnTo(now);
    return this.#previousMs + this.#currentMs;
  }

  #turnTo(now: number): void {
    const window = Math.floor(now / WINDOW_MS);
    if (window <= this.#window) return;
    this.#previousMs = window === this.#window + 1 ? this.#currentMs : 0;
    this.#currentMs = 0;
    this.#window = window;
  }
}
