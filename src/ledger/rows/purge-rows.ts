// Purge rows: deletes the expired rows of a ledger or an outbox, batch by batch.
//   P1. A batch is small and a pause follows it, so that commits wait for one batch at most.
//   P2. A SQLite ledger inspects a bounded number of rows per call and continues where the previous
//       call ended. So it is empty only after a whole pass without a deletion.

import type { DurationMs } from "../../core/units.ts";
import type { Clock } from "../../ports/clock.ts";

export interface PurgeableStore {
  /** Deletes up to `limit` expired rows and returns their number. */
  purge(limit: number): Promise<number>;
}

export interface PurgeOptions {
  readonly batchRows: number;
  readonly pauseMs: DurationMs;
  /** Ends after as many batches. Default: no limit. */
  readonly batchesMax?: number;
  /** Ends after as many batches in a row that deleted nothing (P2). */
  readonly emptyBatches: number;
  readonly signal: AbortSignal;
}

/** Yields the number of deleted rows after each batch. */
export async function* purgeRows(
  ports: { readonly clock: Clock },
  store: PurgeableStore,
  options: PurgeOptions,
): AsyncGenerator<number> {
  const { batchRows, pauseMs, batchesMax = Number.POSITIVE_INFINITY, signal } = options;
  let empty = 0;
  for (let batches = 0; batches < batchesMax && !signal.aborted; batches += 1) {
    const purged = await store.purge(batchRows);
    yield purged;
    empty = purged === 0 ? empty + 1 : 0;
    if (empty >= options.emptyBatches) return;
    await ports.clock.sleep(pauseMs, signal).catch(() => undefined); // P1
  }
}
