// Batch digest: identifies a set of items in any order, with memory for their names only.
//   D1. Two lists have the same digest if and only if they name the same items, however often and
//       in whatever order. The digest adds up hashes, and addition does not depend on order.

import { sha256Bytes } from "../core/encoding/hash.ts";
import { encodeKey } from "../core/encoding/key-encoding.ts";
import { refuseValue } from "../core/errors.ts";
import { BATCH_ITEMS_MAX } from "../ledger/outbox/batch-transitions.ts";
import type { ExpectedItem } from "../ports/batches.ts";

const MODULUS = 2n ** 128n;
const DIGITS = 32;

export class BatchDigest {
  readonly #keys = new Map<string, string>();
  #sum = 0n;

  /** False if the item was added before; throws if its name stands for another job. */
  add({ name, key }: ExpectedItem): boolean {
    const existing = this.#keys.get(name);
    if (existing === key) return false; // D1
    if (existing !== undefined)
      refuseValue(`two jobs of the batch have the name ${JSON.stringify(name)}`);
    if (this.#keys.size >= BATCH_ITEMS_MAX) {
      refuseValue(
        `the batch has more than ${BATCH_ITEMS_MAX} items; split it into several batches`,
      );
    }
    this.#keys.set(name, key);
    const bytes = sha256Bytes(encodeKey(["batch-item", name, key]));
    const view = new DataView(bytes.buffer, bytes.byteOffset);
    this.#sum = (this.#sum + ((view.getBigUint64(0) << 64n) | view.getBigUint64(8))) % MODULUS;
    return true;
  }

  get itemCount(): number {
    return this.#keys.size;
  }

  get digest(): string {
    return this.#sum.toString(16).padStart(DIGITS, "0");
  }
}
