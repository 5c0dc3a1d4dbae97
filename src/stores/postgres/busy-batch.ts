// Busy batch: a batch that met a lock, record by record, so that one locked record does not hold up
// the others.
//   B1. Every record is tried alone, with a short wait for locks. The records that are not locked
//       are done before any that is locked is waited for.
//   B2. A locked record is "busy" for a claim or a direct commit: its delivery is returned, and no
//       attempt is counted. Any other call must not be dropped, so it is repeated until it outlasts
//       a frozen holder (W4 of sql/sql-limits.ts), and only then fails.

import { present } from "../../core/assert.ts";
import { addMs, type DurationMs, durationMs } from "../../core/units.ts";
import type { RecordItem } from "../../ledger/ledger-calls.ts";
import type { RecordResult } from "../../ledger/record-call.ts";
import type { LedgerTime } from "../../ledger/store-time.ts";
import { runLocked } from "./locked-batch.ts";
import type { LedgerTables } from "./record-rows.ts";
import { IDLE_MS_MAX, retryBusy, type SqlLimits } from "./sql/sql-limits.ts";
import { isSqlBusy } from "./sql/sql-state.ts";
import { limitsOf } from "./time-limits.ts";

/** The wait for the locks of one record of a batch (B1). */
const LOCK_ALONE_MS: DurationMs = durationMs(100);
/** The server does not say which process holds a lock. */
const UNKNOWN_OWNER = "unknown";

/** Results in the order of `items`. */
export async function runOneByOne(
  tables: LedgerTables,
  scopeId: number,
  items: readonly RecordItem[],
  time: LedgerTime,
): Promise<RecordResult[]> {
  const limits = limitsOf(tables.pool);
  const run = async (item: RecordItem, within: SqlLimits): Promise<RecordResult> => {
    const [result] = await runLocked(tables, scopeId, [item], time.read(), within);
    return present(result, "the result of an item");
  };
  const results: (RecordResult | null)[] = [];
  for (const item of items) {
    const result = await unlessBusy(() => run(item, { ...limits, lockMs: LOCK_ALONE_MS })); // B1
    results.push(result ?? (mayReturn(item) ? busyResult(time) : null));
  }
  for (const [at, item] of items.entries()) {
    results[at] ??= await retryBusy(() => run(item, limits)); // B2
  }
  return results.map((result) => present(result, "the result of an item"));
}

/** The value of the work, or null if it met a lock. */
export async function unlessBusy<T>(work: () => Promise<T>): Promise<T | null> {
  try {
    return await work();
  } catch (error) {
    if (!isSqlBusy(error)) throw error;
    return null;
  }
}

/** Whether the caller can return the delivery (B2). */
function mayReturn({ call }: RecordItem): boolean {
  return call.call === "claim" || call.call === "commit-direct";
}

/** A frozen holder has lost its locks by then. */
function busyResult(time: LedgerTime): RecordResult {
  return { kind: "busy", until: addMs(time.read().now, IDLE_MS_MAX), owner: UNKNOWN_OWNER };
}
