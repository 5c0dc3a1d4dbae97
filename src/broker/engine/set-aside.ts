// SetAside: messages whose content the disk has damaged.
//   A1. Such a message fails once. The state is then reloaded without it, and all others continue.
//       Otherwise the first message of a queue would block the rest, and each receive of it would
//       discard the state again.
//   A2. Nothing is erased. Its bytes stay on disk, and the next start tries it again, even if a
//       consumer that had received it deleted it in the meantime.
//   A3. Damage often hits neighbours, which share a row on disk. They are tried immediately, so
//       that each of them does not cost a reload of its own.

import { isCorruption, TidegateError } from "../../core/errors.ts";
import type { BrokerStore } from "../../ports/broker/broker-store.ts";

/** How many numbers away a message may be that shares the damaged row (A3). */
const NEIGHBOURS = 64;

export class SetAside {
  readonly #store: Pick<BrokerStore, "read">;
  readonly #seqs = new Set<number>();

  constructor(store: Pick<BrokerStore, "read">) {
    this.#store = store;
  }

  has(seq: number): boolean {
    return this.#seqs.has(seq);
  }

  /** Adds a message, and its neighbours that cannot be read either (A3). */
  add(seq: number): void {
    this.#seqs.add(seq);
    for (let near = Math.max(1, seq - NEIGHBOURS); near <= seq + NEIGHBOURS; near += 1) {
      if (this.#isDamaged(near)) this.#seqs.add(near);
    }
  }

  #isDamaged(seq: number): boolean {
    try {
      this.#store.read(seq);
      return false;
    } catch (error) {
      return isCorruption(error);
    }
  }
}

/** Whether the store as a whole fails, as opposed to one operation. */
export function isStoreDown(error: unknown): boolean {
  return error instanceof TidegateError && !isCorruption(error);
}
