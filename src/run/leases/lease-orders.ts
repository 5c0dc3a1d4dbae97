// Lease orders: what the lease thread does with the orders of its parent.
//   R1. A slot names the lease that was held on it last, until it is dropped.
//   R2. An order to a slot without a lease is ignored. Its lease ended before the order came, so
//       nothing is left to renew; an error would end the thread, and with it all other leases.
//   R3. A receipt that is held again moves to its new slot. Its previous slot names no lease then.

import { unreachable } from "../../core/assert.ts";
import type { LeaseRenewer } from "../../ports/lease-renewer.ts";
import type { LeaseOrder } from "./lease-thread.ts";

type OrderedRenewer = Pick<LeaseRenewer, "track" | "attach" | "detach" | "release">;

export class LeaseOrders {
  readonly #renewer: OrderedRenewer;
  readonly #onLost: (receipt: string, reason: string) => void;
  /** The slot of each lease on the board, and the receipt of each slot. */
  readonly #slots = new Map<string, number>();
  readonly #receipts = new Map<number, string>();

  constructor(renewer: OrderedRenewer, onLost: (receipt: string, reason: string) => void) {
    this.#renewer = renewer;
    this.#onLost = onLost;
  }

  /** The slot to which the expiry of a lease is written. */
  slotOf(receipt: string): number | undefined {
    return this.#slots.get(receipt);
  }

  follow(order: LeaseOrder): void {
    if (order.kind === "hold") {
      this.#hold(order);
      return;
    }
    const receipt = this.#receipts.get(order.slot);
    if (receipt === undefined) return; // R2
    switch (order.kind) {
      case "attach":
        this.#renewer.attach(receipt, order.claim, order.since);
        return;
      case "detach":
        this.#renewer.detach(receipt, order.claim);
        return;
      case "drop":
        this.#drop(receipt, order.slot);
        this.#renewer.release(receipt);
        return;
      default:
        unreachable(order);
    }
  }

  #hold({ receipt, slot, since }: Extract<LeaseOrder, { kind: "hold" }>): void {
    const other = this.#receipts.get(slot);
    if (other !== undefined && other !== receipt) {
      this.#drop(other, slot);
      this.#renewer.release(other); // R1
    }
    const previous = this.#slots.get(receipt);
    if (previous !== undefined) this.#drop(receipt, previous); // R3
    this.#slots.set(receipt, slot);
    this.#receipts.set(slot, receipt);
    this.#renewer.track({ receipt, since }, (reason) => this.#onLost(receipt, reason));
  }

  #drop(receipt: string, slot: number): void {
    this.#slots.delete(receipt);
    this.#receipts.delete(slot);
  }
}
