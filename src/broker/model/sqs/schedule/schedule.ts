// Schedule: which ready message goes out next. A standard queue and a FIFO queue differ in this,
// and in little else.
//   C1. The queue sets a slot's state first and then tells its schedule.
//   C2. No call costs more than O(log n), however many messages wait.

/** A walk of one receive over what may be delivered. */
export interface Cursor {
  /** The next deliverable slot, or 0. The caller hides or removes it before asking again. */
  next(): number;
  /**
   * Leaves the slot that was handed out last where it is, with all that stand behind it in its
   * group. False when every group has been left like this, or there are no groups that wait for
   * each other.
   */
  pass(): boolean;
}

export interface DeliveryOrder {
  /** A message comes in, ready or delayed. */
  add(slot: number, group: string | null, now: number): void;
  /** A hidden message (in flight or delayed) has become ready. */
  release(slot: number, wasInFlight: boolean, now: number): void;
  /** A ready or delayed message has gone out, or a ready one is delayed after all. */
  hide(slot: number, inFlight: boolean, now: number): void;
  /** A message leaves for good; `state` is the one it was in. */
  remove(slot: number, state: number, now: number): void;
  openReceive(now: number): Cursor;
  groupOf(slot: number): string | null;
}
