// Run recorder: the row of one process life in the ledger.
//   R1. The row is written before the first delivery is received, so that every record finds its
//       run.
//   R2. A heartbeat updates it every HEARTBEAT_MS. A process that is killed leaves a row without an
//       end, whose last heartbeat says when it was alive.
//   R3. A heartbeat that fails is tried again with the next one: it never stops a pipeline.

import { type DurationMs, seconds } from "../../core/units.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Ledger, RunRow } from "../../ports/ledger.ts";
import type { LedgerScope } from "../../ports/record.ts";

export const HEARTBEAT_MS: DurationMs = seconds(30);

/** What is known at the start. */
export type RunStart = Pick<
  RunRow,
  "id" | "kind" | "codeDigest" | "configDigest" | "environment" | "parameters"
>;

export interface RunRecorder {
  /** Writes the end, unless the run is to be continued. Never rejects. */
  close(how?: "ended" | "to be continued"): Promise<void>;
}

export async function startRunRecorder(
  ports: { readonly clock: Clock; readonly ledger: Ledger },
  scope: LedgerScope,
  run: RunStart,
  countsNow: () => Readonly<Record<string, number>>,
): Promise<RunRecorder> {
  const { clock, ledger } = ports;
  const startedAt = clock.now();
  const put = (ended: boolean): Promise<void> => {
    const now = clock.now();
    const counts = JSON.stringify(countsNow());
    const times = { startedAt, seenAt: now, endedAt: ended ? now : null };
    return ledger.putRun(scope, { ...run, ...times, counts });
  };
  await put(false); // R1
  const closing = new AbortController();
  const beating = beat();
  async function beat(): Promise<void> {
    while (!closing.signal.aborted) {
      await clock.sleep(HEARTBEAT_MS, closing.signal).catch(() => undefined);
      if (!closing.signal.aborted) await put(false).catch(() => undefined); // R3
    }
  }
  return {
    async close(how = "ended") {
      closing.abort();
      await beating;
      await put(how === "ended").catch(() => undefined);
    },
  };
}
