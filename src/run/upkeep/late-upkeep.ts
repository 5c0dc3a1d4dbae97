// Late upkeep: while a pipeline runs, reports up to where it is complete, and removes the notes of
// held records that are done.
//   K1. A round that fails is repeated at the next interval; it delays no record.
//   K2. The report decodes few messages, because it runs in the thread of the handlers: a long
//       queue is counted, as on SQS, and the report is then an estimate (U3 of complete-up-to.ts).
//   K3. While the result is unknown, the gauge keeps its last value: no number means unknown.

import { type DurationMs, hours, seconds } from "../../core/units.ts";
import { type Completeness, readCompleteness } from "../../ingest/late/complete-up-to.ts";
import { sweepHeld } from "../../ingest/late/sweep-held.ts";
import type { Pipeline } from "../../ingest/spec/define-pipeline.ts";
import { CONSUMER_METRICS } from "../../ingest/telemetry/metrics.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Ledger } from "../../ports/ledger.ts";
import type { Telemetry } from "../../ports/telemetry.ts";
import type { Environment } from "../open/environment.ts";

/** Each round asks queues and ledger, which costs requests on AWS. */
const REPORT_MS: DurationMs = seconds(30);
/** Messages of a queue that a report decodes (K2). */
const REPORT_LOOK_MAX = 1_000;
const SWEEP_MS: DurationMs = hours(6);

export interface LateUpkeep {
  completeUpTo(): Promise<Completeness>;
  close(): Promise<void>;
}

export function startLateUpkeep(
  ports: {
    readonly clock: Clock;
    readonly ledger: Ledger;
    readonly telemetry: Telemetry;
    readonly objects: Environment["objects"];
    readonly looks?: Environment["looks"];
  },
  pipeline: Pipeline,
): LateUpkeep {
  const { clock, ledger, telemetry, objects } = ports;
  const scope = { pipeline: pipeline.name, generation: pipeline.generation };
  const closing = new AbortController();
  const labels = { stream: scope.pipeline };

  async function completeUpTo(max?: number): Promise<Completeness> {
    const looks = (await ports.looks?.(max)) ?? [];
    return readCompleteness({ clock, ledger, looks, objects }, pipeline);
  }

  async function report(): Promise<void> {
    const { at } = await completeUpTo(REPORT_LOOK_MAX); // K2
    if (at === null) return; // K3
    telemetry.gauge(CONSUMER_METRICS.completeUpTo.name, at / 1_000, labels);
  }

  async function repeat(everyMs: DurationMs, round: () => Promise<unknown>): Promise<void> {
    while (!closing.signal.aborted) {
      await clock.sleep(everyMs, closing.signal).catch(() => undefined);
      if (!closing.signal.aborted) await round().catch(() => undefined); // K1
    }
  }

  const running = [
    repeat(REPORT_MS, report),
    repeat(SWEEP_MS, () => sweepHeld({ clock, ledger }, scope)),
  ];
  return {
    completeUpTo: () => completeUpTo(),
    async close() {
      closing.abort();
      await Promise.all(running);
    },
  };
}
