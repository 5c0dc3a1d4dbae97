// Job sweeps: while a pipeline runs, sends unsent jobs of its queue and republishes stuck ones.
//   S1. It never creates an outbox. A producer may create one later, so each sweep looks again.
//   S2. Every process of the pipeline may sweep: epochs decide who republishes a job.
//   S3. A failed sweep is logged; the next one tries again.

import { reasonOf } from "../../core/errors.ts";
import type { DurationMs } from "../../core/units.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Ledger } from "../../ports/ledger.ts";
import type { Outbox } from "../../ports/outbox.ts";
import type { QueueSender } from "../../ports/queue.ts";
import type { Random } from "../../ports/random.ts";
import type { LedgerScope } from "../../ports/record.ts";
import type { Telemetry } from "../../ports/telemetry.ts";
import type { Turn } from "../../ports/turn.ts";
import { createSweeper, type Sweeper } from "../../produce/sweeper.ts";

export interface JobSweepPorts {
  readonly clock: Clock;
  readonly random: Random;
  readonly turn: Turn;
  readonly ledger: Ledger;
  readonly target: QueueSender;
  readonly telemetry: Pick<Telemetry, "log">;
  /** Opens the outbox; null if there is none yet (S1). */
  readonly findOutbox: () => Promise<Outbox | null>;
}

export interface JobSweepOptions {
  readonly scope: LedgerScope;
  readonly everyMs: DurationMs;
  readonly stuckAfterMs: DurationMs;
}

export interface JobSweeps {
  /** Resolves when the sweep in progress has ended. */
  close(): Promise<void>;
}

export function startJobSweeps(ports: JobSweepPorts, options: JobSweepOptions): JobSweeps {
  const { telemetry, ...sending } = ports;
  const { clock } = sending;
  const { scope, everyMs, stuckAfterMs } = options;
  const closing = new AbortController();
  let outbox: Outbox | null = null;
  let sweeper: Sweeper | null = null;

  async function sweep(): Promise<void> {
    outbox ??= await ports.findOutbox();
    if (outbox === null) return;
    sweeper ??= createSweeper({ ...sending, outbox }, { scope, stuckAfterMs });
    const { sent, republished, failed } = await sweeper.sweep();
    if (sent + republished > 0) {
      telemetry.log("info", "sweep sent jobs", { sent, republished });
    }
    if (failed !== null) throw failed;
  }

  async function run(): Promise<void> {
    for (;;) {
      await clock.sleep(everyMs, closing.signal);
      await sweep().catch((error: unknown) => {
        telemetry.log("warn", `sweep failed, retrying in the next round: ${reasonOf(error)}`); // S3
      });
    }
  }

  const running = run().catch((error: unknown) => {
    if (!closing.signal.aborted) throw error;
  });
  return {
    async close() {
      closing.abort();
      await running;
      await outbox?.close();
    },
  };
}
