// Pause gate: makes batches that no queue delivers, such as those of a backfill, respect the pause
// of a pipeline as a consumer does.
//   G1. A batch starts only after a look at the note that found no pause. The first look must
//       succeed; later ones may fail, and then the last answer counts (P4 of pause.ts).
//   G2. While a batch runs, the gate looks every PAUSE_LOOK_MS. Once it has seen a pause, no record
//       of the batch begins; those that have begun finish, and the others are returned uncounted.
//   G3. While the pipeline is paused, the gate waits: until the resume, an abort, or `isOver`. A
//       ledger that does not answer ends no wait: people pause to work on their database.

import type { Clock } from "../../ports/clock.ts";
import type { Ledger } from "../../ports/ledger.ts";
import type { Delivery } from "../../ports/queue-receiver.ts";
import type { LedgerScope } from "../../ports/record.ts";
import { SILENT } from "../telemetry/silent-telemetry.ts";
import type { BatchResult, BatchRunner, BatchTime } from "./batch-runner.ts";
import { createPauseWatch, PAUSE_LOOK_MS, type Pause, type PauseWatch } from "./pause.ts";

export interface PauseGateOptions {
  /** Whose pause counts. */
  readonly scope: LedgerScope;
  /** Called when the gate sees a pause, and when it sees its end. */
  readonly onChange?: ((pause: Pause | null) => void) | undefined;
  /** Asked at every look while the gate waits; true ends the wait (G3). */
  readonly isOver?: () => Promise<boolean>;
}

export interface PauseGate {
  /** Waits while the pipeline is paused; false if the wait ended without a resume (G3). */
  passes(signal: AbortSignal): Promise<boolean>;
  /** Runs a batch, which a pause ends early (G2). */
  run(
    runner: BatchRunner,
    deliveries: readonly Delivery[],
    time: BatchTime,
  ): Promise<readonly BatchResult[]>;
}

/** Batches of something that no pause holds back. */
export const OPEN_GATE: PauseGate = {
  passes: async () => true,
  run: (runner, deliveries, time) => runner.run(deliveries, time),
};

export function createPauseGate(
  ports: { readonly clock: Clock; readonly ledger: Ledger },
  options: PauseGateOptions,
): PauseGate {
  const { scope, onChange = () => undefined, isOver = async () => false } = options;
  const { clock } = ports;
  let running: BatchRunner | null = null;
  const watch = createPauseWatch(
    { ...ports, telemetry: SILENT },
    {
      scope,
      queue: "",
      onChange(pause) {
        if (pause !== null) running?.skipWaiting(); // G2
        onChange(pause);
      },
    },
  );
  const look = firstMustSucceed(watch);
  return {
    async passes(signal) {
      await look();
      while (watch.current() !== null) {
        if (signal.aborted || (await isOver().catch(() => false))) return false; // G3
        await clock.sleep(PAUSE_LOOK_MS, signal).catch(() => undefined);
        await watch.refresh();
      }
      return !signal.aborted;
    },
    async run(runner, deliveries, time) {
      const ended = new AbortController();
      running = runner;
      void watch.keepLooking(ended.signal);
      try {
        return await runner.run(deliveries, time);
      } finally {
        running = null;
        ended.abort();
      }
    },
  };
}

/** G1 */
function firstMustSucceed(watch: PauseWatch): () => Promise<unknown> {
  let hasLooked = false;
  return async () => {
    if (hasLooked) return await watch.refresh();
    await watch.look();
    hasLooked = true;
  };
}
