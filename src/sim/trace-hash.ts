// Trace hash: one number for everything that happened, in order. Two runs with the same hash took
// the same steps; the first step that differs changes it permanently.

export class TraceHash {
  #high = 0x6a09e667;
  #low = 0xbb67ae85;
  #folded = 0;

  /** Number of words folded in. */
  get folded(): number {
    return this.#folded;
  }

  fold(word: number): void {
    this.#folded += 1;
    this.#low = Math.imul(this.#low ^ word, 0x01000193) ^ (this.#high >>> 7);
    this.#high = Math.imul(this.#high ^ this.#low ^ (this.#low >>> 11), 0x85ebca6b);
  }

  /** Sixteen hex digits. */
  digest(): string {
    return [this.#high, this.#low]
      .map((word) => (word >>> 0).toString(16).padStart(8, "0"))
      .join("");
  }
}
