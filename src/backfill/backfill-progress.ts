// Backfill progress: how far a backfill is, in the row of its run.
//   E1. A run that did not end is continued by the next one with the same request. `until` is not
//       compared, as each start has its own.

import type { Ledger, RunRow } from "../ports/ledger.ts";
import type { LedgerScope } from "../ports/record.ts";
import type { BackfillWindow } from "./backfill.ts";

const RUNS_PAGE = 100;

export interface StoredProgress {
  readonly run: RunRow;
  readonly cursor: string | null;
}

/** The parameters of a run's row. */
export function parametersOf(
  { bucket, prefix, since, versions }: BackfillWindow,
  cursor: string | null,
): string {
  const request = { bucket, prefix, since, ...(versions && { versions }) };
  return JSON.stringify({ request, cursor });
}

/** E1 */
export async function unfinishedRun(
  ledger: Ledger,
  scope: LedgerScope,
  request: BackfillWindow,
): Promise<StoredProgress | null> {
  const { runs } = await ledger.listRuns(scope, { after: null, limit: RUNS_PAGE });
  const wanted = JSON.parse(parametersOf(request, null)) as { readonly request: unknown };
  for (const run of runs) {
    if (run.kind !== "backfill" || run.endedAt !== null) continue;
    const { request: stored, cursor } = JSON.parse(run.parameters) as {
      readonly request: unknown;
      readonly cursor: string | null;
    };
    if (JSON.stringify(stored) === JSON.stringify(wanted.request)) return { run, cursor };
  }
  return null;
}
