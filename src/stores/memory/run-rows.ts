// Run rows: runs in a map, by the rule of ledger/runs.ts.

import { compareUtf8 } from "../../core/encoding/utf8-order.ts";
import type { DurationMs } from "../../core/units.ts";
import { mergeRun, type RunStore, type StoredRun } from "../../ledger/runs.ts";
import type { LedgerTime } from "../../ledger/store-time.ts";
import type { LedgerScope } from "../../ports/record.ts";

/** One map per scope, by id. */
export function createMemoryRunStore(
  runsOf: (scope: LedgerScope) => Map<string, StoredRun>,
  time: LedgerTime,
  retentionMs: DurationMs,
): RunStore {
  const newestFirst = (
    a: { readonly startedAt: number; readonly id: string },
    b: { readonly startedAt: number; readonly id: string },
  ) => b.startedAt - a.startedAt || compareUtf8(b.id, a.id);
  return {
    async put(scope, run) {
      const runs = runsOf(scope);
      runs.set(run.id, mergeRun(runs.get(run.id) ?? null, run, { ...time.read(), retentionMs }));
    },
    find: async (scope, id) => runsOf(scope).get(id) ?? null,
    list: async (scope, { start, limit }) =>
      [...runsOf(scope).values()]
        .filter((run) => start === null || newestFirst(run, start) > 0)
        .sort(newestFirst)
        .slice(0, limit),
  };
}
