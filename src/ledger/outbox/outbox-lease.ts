// Outbox lease: decides which pending rows a lease holder may send now, for stores that read them
// one by one, in the order of their seq.
//   T1. A row waits while another owner leases an older row of its group, so that a group stays in
//       order.

import type { EpochMs } from "../../core/units.ts";
import type { OutboxLease, OutboxRow } from "../../ports/outbox.ts";
import { isFree, leased } from "./outbox-transitions.ts";

export interface OutboxTaking {
  /** The row, leased; null if it must wait. */
  offer(row: OutboxRow): OutboxRow | null;
  /** Reports that another owner got the row: later rows of its group wait as well. */
  lose(row: OutboxRow): void;
}

export function createOutboxTaking(lease: OutboxLease, now: EpochMs): OutboxTaking {
  const waiting = new Set<string>();
  const lose = ({ groupId }: OutboxRow) => {
    if (groupId !== null) waiting.add(groupId);
  };
  return {
    offer(row) {
      if (row.groupId !== null && waiting.has(row.groupId)) return null; // T1
      if (isFree(row, lease.owner, now)) return leased(row, lease, now);
      lose(row);
      return null;
    },
    lose,
  };
}
