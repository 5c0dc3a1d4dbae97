// Ledger purger: deletes expired rows of the ledger while a pipeline runs (row-purger.ts).
//   G1. DynamoDB deletes expired items itself (time to live). A purge would read the whole table.
//   G2. A leap of the clock is reported every round: a warning, and a gauge that is 0 without one.
//   G3. Rows that dead attempts staged are removed in the same rounds.

import type { EpochMs } from "../../core/units.ts";
import { CONSUMER_METRICS } from "../../ingest/telemetry/metrics.ts";
import type { PurgeableStore } from "../../ledger/rows/purge-rows.ts";
import { describeLeap } from "../../ledger/store-time.ts";
import type { Ledger } from "../../ports/ledger.ts";
import type { Telemetry } from "../../ports/telemetry.ts";
import type { StoreLocation } from "../open/store-url.ts";
import { type RowPurger, type RowPurgerPorts, startRowPurger } from "./row-purger.ts";

export type LedgerPurgerPorts = Omit<RowPurgerPorts, "store" | "telemetry"> & {
  readonly telemetry: Pick<Telemetry, "count" | "gauge" | "log">;
  readonly ledger: PurgeableStore & Pick<Ledger, "leap">;
  /** Removes rows that dead attempts staged (G3). */
  readonly sweepStages?: (now: EpochMs) => Promise<number>;
};

/** Batches per round that find nothing to delete; SQLite inspects 2,000 rows in each. */
const EMPTY_BATCHES = { memory: 1, sqlite: 50, postgres: 1 } as const;

const NOTHING_TO_PURGE: PurgeableStore = { purge: async () => 0 };

export function startLedgerPurger(
  { ledger, sweepStages, ...ports }: LedgerPurgerPorts,
  store: StoreLocation["store"],
): RowPurger {
  return startRowPurger(
    { ...ports, store: store === "dynamodb" ? NOTHING_TO_PURGE : ledger }, // G1
    {
      name: "ledger",
      metric: CONSUMER_METRICS.ledgerPurged.name,
      emptyBatches: store === "dynamodb" ? 1 : EMPTY_BATCHES[store],
      async beforeRound() {
        reportLeap(ledger, ports.telemetry); // G2
        await sweepStages?.(ports.clock.now()); // G3
      },
    },
  );
}

function reportLeap(
  ledger: Pick<Ledger, "leap">,
  telemetry: Pick<Telemetry, "gauge" | "log">,
): void {
  const leap = ledger.leap();
  telemetry.gauge(CONSUMER_METRICS.clockAhead.name, (leap?.aheadMs ?? 0) / 1_000);
  if (leap !== null) telemetry.log("warn", describeLeap(leap), { code: "TG_CLOCK_LEAPT" });
}
