// Queue snapshot: which object events are still in the queue, read before bucket and ledger.
//   Q1. A message leaves the queue only after its record is in the ledger. So an event that was not
//       in the queue at the snapshot, and whose object is old enough, is in the ledger by then, or
//       never arrives.

import type { EpochMs } from "../core/units.ts";

export interface QueueSnapshot {
  /** How it was read: message by message, by counts only, or not at all. */
  readonly kind: "exact" | "counted" | "unread";
  /** Messages, as far as they are known. */
  readonly messages: number | null;
  /** Whether an event of the object that left this state is queued. */
  readonly has: (key: string, state: string) => boolean;
  /**
   * Events of objects that were modified earlier have been received, unless `has` finds them (Q1).
   * Null: nothing is known.
   */
  readonly settledBefore: EpochMs | null;
}

/** A snapshot of a queue without messages. */
export function emptyQueue(now: EpochMs, kind: "exact" | "counted"): QueueSnapshot {
  return { kind, messages: 0, has: () => false, settledBefore: now };
}
