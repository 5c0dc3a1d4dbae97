// Row purger: deletes expired rows of a ledger or an outbox while a pipeline runs.
//   U1. It never delays processing: batches are small (P1 of purge-rows.ts), a round is bounded,
//       and no caller waits for it. Expired rows are ignored whether or not they are deleted.
//   U2. Rounds are jittered, so that the processes of a pipeline do not purge at the same time.
//   U3. A failed round is logged; the next round tries again.

import { reasonOf } from "../../core/errors.ts";
import { type DurationMs, durationMs, hours, minutes } from "../../core/units.ts";
import { type PurgeableStore, type PurgeOptions, purgeRows } from "../../ledger/rows/purge-rows.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Random } from "../../ports/random.ts";
import type { Telemetry } from "../../ports/telemetry.ts";

export interface RowPurgerPorts {
  readonly clock: Clock;
  readonly random: Random;
  readonly telemetry: Pick<Telemetry, "count" | "log">;
  readonly store: PurgeableStore;
}

export interface RowPurgerOptions {
  /** For log lines, and the stream of random numbers. */
  readonly name: "ledger" | "outbox";
  /** The counter of deleted rows. */
  readonly metric: string;
  /** Batches per round that find nothing to delete (P2 of purge-rows.ts). */
  readonly emptyBatches: number;
  /** Runs before every round; a failure ends the round (U3). */
  readonly beforeRound?: () => Promise<void>;
}

export interface RowPurger {
  /** Resolves when the batch in progress has ended. */
  close(): Promise<void>;
}

/** Early, so that processes that live shorter than a round purge as well. */
const FIRST_ROUND_MS = minutes(1);
const ROUND_MS = hours(1);
const BATCH_ROWS = 500;
const BATCHES_MAX = 400;
const PAUSE_MS = durationMs(50);

export function startRowPurger(ports: RowPurgerPorts, about: RowPurgerOptions): RowPurger {
  const { clock, telemetry, store } = ports;
  const { name, metric, emptyBatches } = about;
  const random = ports.random.fork(`${name}-purger`);
  const closing = new AbortController();
  const { signal } = closing;
  const options: PurgeOptions = {
    batchRows: BATCH_ROWS,
    pauseMs: PAUSE_MS,
    batchesMax: BATCHES_MAX,
    emptyBatches,
    signal,
  };

  /** From half of `span` to one and a half of it (U2). */
  const pause = (span: DurationMs) =>
    clock.sleep(durationMs(Math.round(span * (0.5 + random.fraction()))), signal);

  async function round(): Promise<void> {
    try {
      await about.beforeRound?.();
      for await (const purged of purgeRows({ clock }, store, options)) {
        if (purged > 0) telemetry.count(metric, purged);
      }
    } catch (error) {
      const failure = `${name} purge failed, retrying in the next round`;
      telemetry.log("warn", `${failure}: ${reasonOf(error)}`); // U3
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
