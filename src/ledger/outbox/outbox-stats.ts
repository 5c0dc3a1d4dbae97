// Outbox stats: the counts of an outbox per target.

import { type EpochMs, epochMs } from "../../core/units.ts";
import type { OutboxRow, OutboxStats } from "../../ports/outbox.ts";

/** Counts rows in memory. */
export function countRows(rows: readonly OutboxRow[]): OutboxStats {
  const of = (state: OutboxRow["state"]) => rows.filter((row) => row.state === state);
  const oldest = Math.min(...of("pending").map(({ registeredAt }) => registeredAt));
  return {
    pending: of("pending").length,
    sent: of("sent").length,
    refused: of("refused").length,
    oldestPendingAt: Number.isFinite(oldest) ? epochMs(oldest) : null,
  };
}

/** From the rows of a query grouped by state: `n`, and when the oldest was registered. */
export function statsOfStates(counted: readonly Readonly<Record<string, unknown>>[]): OutboxStats {
  const counts = { pending: 0, sent: 0, refused: 0 };
  let oldestPendingAt: EpochMs | null = null;
  for (const { state, n, oldest } of counted) {
    counts[state as OutboxRow["state"]] = Number(n);
    if (state === "pending") oldestPendingAt = epochMs(Number(oldest));
  }
  return { ...counts, oldestPendingAt };
}
