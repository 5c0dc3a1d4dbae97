// Sequence reserve: message numbers are reserved in the store in blocks, before they are used
// (W5 of engine.ts). So numbers of a batch whose commit failed are never given out twice.

import { assert } from "../../core/assert.ts";
import type { Change } from "../../ports/broker/broker-change.ts";

const SEQUENCE_BLOCK = 4_096;

export class SequenceReserve {
  #through = 0;

  /** Continues after the numbers that the store has reserved. */
  continueFrom(sequence: number): void {
    this.#through = sequence;
  }

  /** Adds a reservation to the changes if they use numbers beyond the last one. */
  addTo(changes: Change[], sequence: number): void {
    if (sequence > this.#through) {
      this.#through = sequence + SEQUENCE_BLOCK;
      changes.push({ kind: "set-sequence", seq: this.#through });
    }
    assert(sequence <= this.#through, "every number in use is reserved (W5)");
  }
}
