// Scope stats: the counts of a ledger per scope.

import type { ScopeStats } from "../ports/ledger.ts";
import type { LedgerScope } from "../ports/record.ts";

export type ScopeCounts = { -readonly [K in Exclude<keyof ScopeStats, keyof LedgerScope>]: number };

export function noCounts(): ScopeCounts {
  return { claimed: 0, released: 0, failed: 0, committed: 0, parked: 0, objects: 0 };
}

/** From the row of a query; drivers return large counts as text. */
export function scopeStatsOf(row: Readonly<Record<string, unknown>>): ScopeStats {
  return {
    pipeline: String(row.pipeline),
    generation: Number(row.generation),
    claimed: Number(row.claimed),
    released: Number(row.released),
    failed: Number(row.failed),
    committed: Number(row.committed),
    parked: Number(row.parked),
    objects: Number(row.objects),
  };
}

/** The order in which scopes are listed. */
export function compareScopes(a: LedgerScope, b: LedgerScope): number {
  if (a.pipeline !== b.pipeline) return a.pipeline < b.pipeline ? -1 : 1;
  return a.generation - b.generation;
}
