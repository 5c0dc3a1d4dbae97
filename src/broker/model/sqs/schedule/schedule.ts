// Schedule: which ready message goes out next. This is the main difference between standard and
// FIFO queues.
//   C1. The queue sets a slot's state first and then calls its schedule.
//   C2. No call costs more than O(log n), however many messages wait.

/** One receive's walk over the deliverable messages. */
export interface Cursor {
  /** The next deliverable slot, or 0. The caller hides or removes it before asking again. */
  next(): number;
  /**
   * Skips the slot returned last, with all behind it in its group. False if every group has been
   * skipped, or if messages do not wait for each other.
   */
  pass(): boolean;
}

export interface DeliveryOrder {
  /** A message arrives, ready or delayed. */
  add(slot: number, group: string | null, now: number): void;
  /** A hidden message (in flight or delayed) has become ready. */
  release(slot: number, wasInFlight: boolean, now: number): void;
  /** A ready or delayed message was delivered, or a ready one is delayed after all. */
  hide(slot: number, inFlight: boolean, now: number): void;
  /** A message leaves for good; `state` is its state until then. */
  remove(slot: number, state: number, now: number): void;
  openReceive(now: number): Cursor;
  groupOf(slot: number): string | null;
}
