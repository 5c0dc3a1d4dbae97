// Purge report: what `tidegate ledger purge` and `tidegate outbox purge` do, batch by batch.

import { durationMs } from "../../core/units.ts";
import { systemPorts } from "../../platform/index.ts";
import type { Ledger } from "../../ports/ledger.ts";
import { openLedger } from "../../run/open/open-ledger.ts";
import { openOutbox } from "../../run/open/open-outbox.ts";
import { parseStoreUrl } from "../../run/open/store-url.ts";
import { type PurgeableStore, purgeRows } from "../../run/upkeep/purge-rows.ts";

const BATCH_ROWS = 1_000;
const PAUSE_MS = durationMs(20);

export interface PurgeRun {
  readonly signal: AbortSignal;
  /** Called after each batch with the number of rows deleted so far. */
  readonly onProgress: (purged: number) => void;
}

/** Deletes all expired rows of a ledger; resolves to their number. */
export async function purgeLedger(url: string, run: PurgeRun): Promise<number> {
  const ledger = await openLedger(url, systemPorts, { migrate: false });
  try {
    const { store } = parseStoreUrl(url, "ledger");
    return await purgeAll(ledger, store === "sqlite" ? await wholePass(ledger) : 1, run);
  } finally {
    await ledger.close();
  }
}

/** Deletes all expired rows of an outbox; resolves to their number. */
export async function purgeOutbox(url: string, run: PurgeRun): Promise<number> {
  const outbox = await openOutbox(url, systemPorts);
  try {
    return await purgeAll(outbox, 1, run);
  } finally {
    await outbox.close();
  }
}

/** Batches after which a SQLite ledger has inspected each of its rows (P2 of purge-rows.ts). */
async function wholePass(ledger: Ledger): Promise<number> {
  const scopes = await ledger.stats();
  const rows = scopes.map(({ claimed, released, failed, committed, parked, objects }) => {
    return claimed + released + failed + committed + parked + objects;
  });
  return 1 + Math.ceil(rows.reduce((sum, count) => sum + count, 0) / BATCH_ROWS);
}

async function purgeAll(
  store: PurgeableStore,
  emptyBatches: number,
  { signal, onProgress }: PurgeRun,
): Promise<number> {
  const options = { batchRows: BATCH_ROWS, pauseMs: PAUSE_MS, emptyBatches, signal };
  let total = 0;
  for await (const purged of purgeRows(systemPorts, store, options)) {
    total += purged;
    onProgress(total);
  }
  return total;
}
