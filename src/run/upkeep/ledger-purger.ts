// Ledger purger: deletes expired rows of the ledger while a pipeline runs.
//   U1. It never delays processing: batches are small (P1 of purge-rows.ts), a round is bounded,
//       and no caller waits for it. Expired rows are ignored whether or not they are deleted.
//   U2. Rounds are jittered, so that the processes of a pipeline do not purge at the same time.
//   U3. A failed round is logged; the next round tries again.
//   U4. DynamoDB deletes expired items itself (time to live). A purge would read the whole table.

import { reasonOf } from "../../core/errors.ts";
import { type DurationMs, durationMs, hours, minutes } from "../../core/units.ts";
import { CONSUMER_METRICS } from "../../ingest/telemetry/metrics.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Random } from "../../ports/random.ts";
import type { Telemetry } from "../../ports/telemetry.ts";
import type { StoreLocation } from "../open/store-url.ts";
import { type PurgeableStore, type PurgeOptions, purgeRows } from "./purge-rows.ts";

export interface LedgerPurgerPorts {
  readonly clock: Clock;
  readonly random: Random;
  readonly telemetry: Pick<Telemetry, "count" | "log">;
  readonly ledger: PurgeableStore;
}

export interface LedgerPurger {
  /** Resolves when the batch in progress has ended. */
  close(): Promise<void>;
}

/** Early, so that processes that live shorter than a round purge as well. */
const FIRST_ROUND_MS = minutes(1);
const ROUND_MS = hours(1);
const BATCH_ROWS = 500;
const BATCHES_MAX = 400;
const PAUSE_MS = durationMs(50);
/** Batches per round that find nothing to delete; SQLite inspects 2,000 rows in each. */
const EMPTY_BATCHES = { memory: 1, sqlite: 50, postgres: 1 } as const;

export function startLedgerPurger(
  ports: LedgerPurgerPorts,
  store: StoreLocation["store"],
): LedgerPurger {
  if (store === "dynamodb") return { close: async () => undefined }; // U4
  const { clock, telemetry, ledger } = ports;
  const random = ports.random.fork("ledger-purger");
  const closing = new AbortController();
  const { signal } = closing;
  const options: PurgeOptions = {
    batchRows: BATCH_ROWS,
    pauseMs: PAUSE_MS,
    batchesMax: BATCHES_MAX,
    emptyBatches: EMPTY_BATCHES[store],
    signal,
  };

  /** From half of `span` to one and a half of it (U2). */
  const pause = (span: DurationMs) =>
    clock.sleep(durationMs(Math.round(span * (0.5 + random.fraction()))), signal);

  async function round(): Promise<void> {
    try {
      for await (const purged of purgeRows({ clock }, ledger, options)) {
        if (purged > 0) telemetry.count(CONSUMER_METRICS.ledgerPurged.name, purged);
      }
    } catch (error) {
      telemetry.log("warn", `ledger purge failed, retrying in the next round: ${reasonOf(error)}`); // U3
    }
  }

  async function run(): Promise<void> {
    await pause(FIRST_ROUND_MS);
    for (;;) {
      await round();
      await pause(ROUND_MS);
    }
  }

  const running = run().catch((error: unknown) => {
    if (!signal.aborted) throw error;
  });
  return {
    close() {
      closing.abort();
      return running;
    },
  };
}
