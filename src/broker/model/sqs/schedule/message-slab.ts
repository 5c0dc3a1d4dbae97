// MessageSlab: the in-memory part of every waiting message, as columns of numbers.
//   M1. Slot 0 is never used, so that 0 can mean "none" in links and positions.
//   M2. A slot belongs to one message from `allocate` to `free`, and to one queue for all that
//       time.
//   M3. Bodies are not here: a message costs the same few dozen bytes whatever its size.

import {
  type Column,
  createFloat64Column,
  createUint8Column,
  createUint32Column,
} from "./columns.ts";

/** The state of a message. */
export const SlotState = {
  free: 0,
  /** Deliverable (on a FIFO queue: when its group's turn comes). */
  ready: 1,
  inFlight: 2,
  delayed: 3,
} as const;

export class MessageSlab {
  readonly seq = createFloat64Column();
  readonly sentAt = createFloat64Column();
  readonly dueAt = createFloat64Column();
  readonly receivedAt = createFloat64Column();
  readonly firstReceivedAt = createFloat64Column();
  /** Order in which standard messages became ready. */
  readonly ticket = createFloat64Column();
  readonly receiveCount = createUint32Column();
  /** The receive count with which the message came from another queue. */
  readonly arrivalCount = createUint32Column();
  /** Index of its group or tenant within its queue. */
  readonly group = createUint32Column();
  readonly next = createUint32Column();
  readonly previous = createUint32Column();
  /** Position in its queue's heap of deadlines, plus one. */
  readonly duePosition = createUint32Column();
  /** Position in its queue's heap of ages, plus one. */
  readonly agePosition = createUint32Column();
  readonly state = createUint8Column();

  readonly #columns: readonly Column[] = [
    this.seq,
    this.sentAt,
    this.dueAt,
    this.receivedAt,
    this.firstReceivedAt,
    this.ticket,
    this.receiveCount,
    this.arrivalCount,
    this.group,
    this.next,
    this.previous,
    this.duePosition,
    this.agePosition,
    this.state,
  ];
  /** Freed slots, chained through `next`. */
  #freeHead = 0;
  #slots = 1; // M1
  #used = 0;

  get used(): number {
    return this.#used;
  }

  /** A slot with all columns at zero. */
  allocate(): number {
    this.#used += 1;
    const reused = this.#freeHead;
    if (reused !== 0) {
      this.#freeHead = this.next.get(reused);
      for (const column of this.#columns) column.set(reused, 0);
      return reused;
    }
    const slot = this.#slots;
    this.#slots += 1;
    for (const column of this.#columns) column.reserve(this.#slots);
    return slot;
  }

  free(slot: number): void {
    this.#used -= 1;
    this.state.set(slot, SlotState.free);
    this.next.set(slot, this.#freeHead);
    this.#freeHead = slot;
  }
}
