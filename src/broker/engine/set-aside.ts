// SetAside: messages whose content the disk has damaged.
//   A1. Such a message is met once. The models are read anew without it, and all others go on: the
//       first message of a queue would otherwise stand before the rest for ever, and whoever asks
//       for it would throw the models away each time.
//   A2. Nothing of it is erased. Its bytes stay where they are, and another start tries it again,
//       even if somebody who had it before deleted it meanwhile, when nobody knew it.
//   A3. Damage seldom comes alone, as neighbours share a row on disk. They are tried at once, so
//       that not each of them costs a reading of the store.

import { isCorruption, TidegateError } from "../../core/errors.ts";
import type { BrokerStore } from "../../ports/broker-store.ts";

/** How far from a damaged message others may lie that share its row (A3). */
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

  /** Takes a message in, and those beside it that cannot be read either (A3). */
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

/** Whether the store as a whole does not work; anything else that fails is not its fault. */
export function isStoreDown(error: unknown): boolean {
  return error instanceof TidegateError && !isCorruption(error);
}
