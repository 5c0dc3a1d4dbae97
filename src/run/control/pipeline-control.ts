// Pipeline control: pauses and resumes a pipeline from outside, and says what it is doing. The
// order is a note in the ledger, which every process of the pipeline reads (see pause.ts).
//   C1. A ledger that the caller passes stays open; one opened here is closed.
//   C2. A process counts as running if its last heartbeat is recent: a killed one stops counting.

import { type DurationMs, durationMs, msBetween } from "../../core/units.ts";
import { endPause, findPause, type Pause, setPause } from "../../ingest/running/pause.ts";
import type { Pipeline } from "../../ingest/spec/define-pipeline.ts";
import { systemPorts } from "../../platform/index.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Ledger, RunRow } from "../../ports/ledger.ts";
import type { LedgerScope } from "../../ports/record.ts";
import { ledgerUrl } from "../open/find-server.ts";
import { openLedger } from "../open/open-ledger.ts";
import { HEARTBEAT_MS } from "../runs/run-recorder.ts";

/** What a pipeline is doing, from its ledger. */
export interface PipelineStatus extends LedgerScope {
  /** Null while it may receive. */
  readonly paused: Pause | null;
  /** Processes that run it now; functions and tasks do not count themselves. */
  readonly processes: readonly Pick<RunRow, "id" | "startedAt" | "seenAt">[];
}

/** Which pipeline, and where its ledger is. */
export interface PipelineControlOptions {
  /** The pipeline, or its name. */
  readonly pipeline: Pipeline | string;
  /** Default: the pipeline's, or 0. */
  readonly generation?: number;
  /** A ledger URL, or an open ledger. Default: ledger.db in the data folder. */
  readonly ledger?: string | Ledger;
  /** Folder of the default ledger. Default: ".tidegate". */
  readonly data?: string;
}

/** Controls one pipeline. Close it to release its ledger. */
export interface PipelineControl extends AsyncDisposable {
  /** Pauses it; returns the pause that holds, which may be an earlier one. */
  pause(order?: { readonly by?: string; readonly reason?: string }): Promise<Pause>;
  /** Resumes it; returns the pause that ended, or null. */
  resume(): Promise<Pause | null>;
  status(): Promise<PipelineStatus>;
  close(): Promise<void>;
}

/** Two heartbeats may be missed (C2). */
const ALIVE_MS: DurationMs = durationMs(3 * HEARTBEAT_MS);
const RUNS_READ_MAX = 100;

/** Opens the control of a pipeline. `await using` closes it at the end of the block. */
export async function openPipelineControl(
  options: PipelineControlOptions,
): Promise<PipelineControl> {
  const { pipeline, data, ledger: given = ledgerUrl({ data }) } = options;
  const named = typeof pipeline === "string" ? { name: pipeline, generation: 0 } : pipeline;
  const generation = options.generation ?? named.generation;
  const scope = { pipeline: named.name, generation };
  const isOpen = typeof given !== "string";
  const ledger = isOpen ? given : await openLedger(given, systemPorts, { migrate: false });
  const close = async () => {
    if (!isOpen) await ledger.close(); // C1
  };
  const { clock } = systemPorts;
  return {
    pause: ({ by = "", reason = "" } = {}) =>
      setPause(ledger, scope, { since: clock.now(), by, reason }),
    resume: () => endPause(ledger, scope),
    status: () => readPipelineStatus({ clock, ledger }, scope),
    close,
    [Symbol.asyncDispose]: close,
  };
}

export async function readPipelineStatus(
  { clock, ledger }: { readonly clock: Clock; readonly ledger: Ledger },
  scope: LedgerScope,
): Promise<PipelineStatus> {
  const paused = await findPause(ledger, scope);
  const { runs } = await ledger.listRuns(scope, { after: null, limit: RUNS_READ_MAX });
  const now = clock.now();
  const processes = runs
    .filter(({ endedAt, seenAt }) => endedAt === null && msBetween(seenAt, now) < ALIVE_MS) // C2
    .map(({ id, startedAt, seenAt }) => ({ id, startedAt, seenAt }));
  return { ...scope, paused, processes };
}
