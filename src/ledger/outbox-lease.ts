// Outbox taking: which of the pending rows a holder of a lease may send now, for stores that look
// at them one after the other, in the order of their seq.
//   T1. A row waits while an older one of its group is another's, so that a group stays in order.

import type { EpochMs } from "../core/units.ts";
import type { OutboxLease, OutboxRow } from "../ports/outbox.ts";
import { isFree, leased } from "./outbox-transitions.ts";

export interface OutboxTaking {
  /** The row, leased; null if it has to wait. */
  offer(row: OutboxRow): OutboxRow | null;
  /** For a row that another got hold of all the same: what follows it in its group waits, too. */
  lose(row: OutboxRow): void;
}

export function createOutboxTaking(lease: OutboxLease, now: EpochMs): OutboxTaking {
  const held = new Set<string>();
  const lose = ({ groupId }: OutboxRow) => {
    if (groupId !== null) held.add(groupId);
  };
  return {
    offer(row) {
      if (row.groupId !== null && held.has(row.groupId)) return null; // T1
      if (isFree(row, lease.owner, now)) return leased(row, lease, now);
      lose(row);
      return null;
    },
    lose,
  };
}
