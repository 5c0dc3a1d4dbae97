// Pause: pauses and resumes a pipeline from outside, and says what it is doing. The order is a note
// in the ledger, which every process of the pipeline reads (running/pause.ts).
//   C1. A name has to be one that the ledger knows: a pause under a misspelt name would stop
//       nothing. A pipeline that never ran is named by its file.
//   C2. A process counts as running if its last heartbeat is recent: a killed one stops counting.

import { TidegateError } from "../core/errors.ts";
import { type DurationMs, durationMs, msBetween } from "../core/units.ts";
import { endPause, findPause, type Pause, setPause } from "../ingest/running/pause.ts";
import type { Clock } from "../ports/clock.ts";
import type { Ledger, RunRow, ScopeStats } from "../ports/ledger.ts";
import type { LedgerScope } from "../ports/record.ts";
import { HEARTBEAT_MS } from "../run/upkeep/run-recorder.ts";
import type { Sources } from "./sources.ts";

export { PAUSE_LOOK_MS, type Pause } from "../ingest/running/pause.ts";

/** What a pipeline is doing, from its ledger. */
export interface PipelineStatus extends LedgerScope {
  /** Null while it may receive. */
  readonly paused: Pause | null;
  /** Processes that run it now; functions and tasks do not count themselves. */
  readonly processes: readonly Pick<RunRow, "id" | "startedAt" | "seenAt">[];
}

/** With its records by state, which are counted for it; null if the ledger has none. */
export interface CountedStatus extends PipelineStatus {
  readonly records: ScopeStats | null;
}

/** Who pauses a pipeline, and why. */
export interface PauseOrder {
  readonly by?: string | undefined;
  readonly reason?: string | undefined;
}

/** Pauses, resumes and watches pipelines. */
export interface PipelineControl {
  /** Pauses it. The pause that holds may be an earlier one. */
  pause(order?: PauseOrder): Promise<{ readonly status: PipelineStatus; readonly isNew: boolean }>;
  /** Resumes it, and returns the pause that ended; null if there was none. */
  resume(): Promise<{ readonly status: PipelineStatus; readonly ended: Pause | null }>;
  /** The pipeline, or all pipelines of the ledger. */
  status(): Promise<readonly CountedStatus[]>;
}

/** Two heartbeats may be missed (C2). */
const ALIVE_MS: DurationMs = durationMs(3 * HEARTBEAT_MS);
const RUNS_READ_MAX = 100;

export function pipelineControlOf(sources: Sources): PipelineControl {
  const { clock } = sources;
  return {
    async pause({ by = "", reason = "" } = {}) {
      const scope = await knownScope(sources);
      const ledger = await sources.writer();
      const since = clock.now();
      const paused = await setPause(ledger, scope, { since, by, reason });
      const isNew = paused.since === since;
      return { status: await readPipelineStatus({ clock, ledger }, scope), isNew };
    },
    async resume() {
      const scope = await knownScope(sources);
      const ledger = await sources.writer();
      const ended = await endPause(ledger, scope);
      return { status: await readPipelineStatus({ clock, ledger }, scope), ended };
    },
    async status() {
      const ledger = await sources.reader();
      const stats = await ledger.stats();
      const all: CountedStatus[] = [];
      for (const scope of await sources.scopes()) {
        const records = stats.find((each) => isSame(each, scope)) ?? null;
        all.push({ ...(await readPipelineStatus({ clock, ledger }, scope)), records });
      }
      return all;
    },
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

/** The scope that is meant; a name that the ledger does not know is rejected (C1). */
async function knownScope(sources: Sources): Promise<LedgerScope> {
  const scope = await sources.scope();
  if ((await sources.pipeline()) !== null) return scope;
  const ledger = await sources.reader();
  const { runs } = await ledger.listRuns(scope, { after: null, limit: 1 });
  if (runs.length > 0) return scope;
  const scopes: readonly LedgerScope[] = await ledger.stats();
  if (scopes.some((each) => isSame(each, scope))) return scope;
  const names = [...new Set(scopes.map(({ pipeline }) => pipeline))].join(", ");
  const others = names === "" ? "it has none yet" : `it has ${names}`;
  throw new TidegateError(
    "TG_CONFIG_INVALID",
    `unknown pipeline "${scope.pipeline}" in generation ${scope.generation} of the ledger; ` +
      `${others}. Name a pipeline that never ran by its file`,
  );
}

function isSame(one: LedgerScope, two: LedgerScope): boolean {
  return one.pipeline === two.pipeline && one.generation === two.generation;
}
