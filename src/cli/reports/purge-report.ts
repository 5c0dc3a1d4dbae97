// Purge report: what `tidegate ledger purge` and `tidegate outbox purge` do, batch by batch.

import { TidegateError } from "../../core/errors.ts";
import type { ClockLeap } from "../../core/store-clock.ts";
import { type DurationMs, durationMs, subtractMs } from "../../core/units.ts";
import { type PurgeableStore, purgeRows } from "../../ledger/sql/purge-rows.ts";
import { describeLeap } from "../../ledger/store-time.ts";
import { systemPorts } from "../../platform/index.ts";
import type { Ledger } from "../../ports/ledger.ts";
import { openLedger } from "../../run/open/open-ledger.ts";
import { openOutbox } from "../../run/open/open-outbox.ts";
import { parseStoreUrl } from "../../run/open/store-url.ts";
import { sweepLedgerStages } from "../../run/upkeep/stage-sweep.ts";

const BATCH_ROWS = 1_000;
const PAUSE_MS = durationMs(20);

export interface PurgeRun {
  readonly signal: AbortSignal;
  /** Believes the clock, however far it is ahead of the store. */
  readonly acceptClock: boolean;
  /** Called after each batch with the number of rows deleted so far. */
  readonly onProgress: (purged: number) => void;
}

/** Deletes all expired rows of a ledger; resolves to their number. */
export async function purgeLedger(url: string, run: PurgeRun): Promise<number> {
  const { acceptClock } = run;
  const ledger = await openLedger(url, systemPorts, { migrate: false, acceptClock });
  try {
    rejectLeap(ledger.leap());
    const { store } = parseStoreUrl(url, "ledger");
    await sweepLedgerStages(ledger, systemPorts.clock.now());
    return await purgeAll(ledger, store === "sqlite" ? await wholePass(ledger) : 1, run);
  } finally {
    await ledger.close();
  }
}

/** Deletes all expired rows of an outbox, and those sent before `keepMs`; returns their number. */
export async function purgeOutbox(
  url: string,
  keepMs: DurationMs | null,
  run: PurgeRun,
): Promise<number> {
  const { acceptClock } = run;
  const outbox = await openOutbox(url, systemPorts, { acceptClock });
  const sentBefore = keepMs === null ? undefined : subtractMs(systemPorts.clock.now(), keepMs);
  try {
    rejectLeap(outbox.leap());
    return await purgeAll({ purge: (limit) => outbox.purge(limit, sentBefore) }, 1, run);
  } finally {
    await outbox.close();
  }
}

/** A purge that deletes nothing because of the clock must not look like a success. */
function rejectLeap(leap: ClockLeap | null): void {
  if (leap !== null) throw new TidegateError("TG_CLOCK_LEAPT", describeLeap(leap));
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
