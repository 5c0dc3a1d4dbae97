// Outbox upkeep: what is told of all rows at once.

import type { OutboxRow } from "../../core/outbox-step.ts";
import { type EpochMs, epochMs } from "../../core/units.ts";
import type { OutboxStats } from "../../ports/outbox.ts";
import type { SeenRow } from "./outbox-items.ts";

export interface ScannedRow {
  readonly target: string;
  readonly seen: SeenRow;
}

export function countRows(scanned: readonly ScannedRow[], target: string): OutboxStats {
  const rows = scanned.filter((each) => each.target === target).map(({ seen }) => seen.row);
  const of = (state: OutboxRow["state"]) => rows.filter((row) => row?.state === state);
  const oldest = Math.min(...of("pending").map((row) => row?.registeredAt ?? 0));
  return {
    pending: of("pending").length,
    sent: of("sent").length,
    refused: of("refused").length,
    oldestPendingAt: Number.isFinite(oldest) ? epochMs(oldest) : null,
  };
}

export function expiredRows(
  scanned: readonly ScannedRow[],
  now: EpochMs,
  limit: number,
): ScannedRow[] {
  const expired = scanned.filter(({ seen }) => {
    const expiresAt = seen.row?.expiresAt ?? null;
    return expiresAt !== null && expiresAt <= now;
  });
  return expired.slice(0, limit);
}
