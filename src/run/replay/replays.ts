// Replays: what can be done with the replays of a pipeline, and what is known about them.

import type { Pause } from "../../ingest/running/pause.ts";
import type { NondeterministicUse } from "../../platform/handler-uses.ts";
import type { ListedRecord } from "../../ports/ledger.ts";
import type { ObjectSource } from "../../ports/objects/object-source.ts";
import type { Promotion, TableContent, TableDifference } from "../../ports/shadow.ts";
import type { Telemetry } from "../../ports/telemetry.ts";
import type { CheckedVersions } from "../../replay/check-versions.ts";
import type { ReplayPlan, ReplayRequest, RunDigests } from "../../replay/plan-replay.ts";
import type { ReplayInput } from "../../replay/replay-input.ts";
import type { ReplayEntry } from "../../replay/replay-registry.ts";
import type { ReplayOutcome, ReplayProgress } from "../../replay/run-replay.ts";

export interface ReplaysOptions {
  /** The URL of the ledger. */
  readonly ledger: string;
  /** The data folder, on which a cloud may run. Default: ".tidegate". */
  readonly data?: string | undefined;
  readonly endpoint?: string | undefined;
  readonly region?: string | undefined;
  /** The file of the pipeline, for the code digest. */
  readonly file?: string | undefined;
  /** Default: S3 at the endpoint. */
  readonly objects?: ObjectSource;
  /** Default: none. */
  readonly telemetry?: Telemetry;
}

export interface StartReplay {
  readonly concurrency?: number | undefined;
  /** Continues without versions that are gone, instead of refusing. */
  readonly skipGone?: boolean | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly onProgress?: (progress: ReplayProgress) => void;
  /** Called when a pause makes a replay into the live tables wait; with null when it continues. */
  readonly onPause?: (pause: Pause | null) => void;
}

export type ReplayState =
  | "running"
  | "stopped"
  | "cancelled"
  | "failed"
  | "ready"
  | "promoted"
  | "complete";

export interface ReplayStatus {
  readonly entry: ReplayEntry;
  readonly state: ReplayState;
  /** Null if it never ran to an end. */
  readonly outcome: ReplayOutcome | null;
  /** The shadow's table of each table; empty for a replay into the live tables. */
  readonly tables: ReadonlyMap<string, string>;
  /** What the handler used in this process that another run gets otherwise, such as the clock. */
  readonly uses: readonly NondeterministicUse[];
}

export interface CheckedPlan extends ReplayPlan, CheckedVersions {
  /** The run of the same request, if there is one. */
  readonly existing: ReplayStatus | null;
}

export interface Replays extends AsyncDisposable {
  /** What a replay would run; writes nothing. */
  plan(request: ReplayRequest, signal?: AbortSignal): Promise<CheckedPlan>;
  /** Runs the request, or continues the run of the same request. */
  start(request: ReplayRequest, options?: StartReplay): Promise<ReplayStatus>;
  /** Runs a plan that was made elsewhere, as a new run. */
  startPlan(plan: ReplayPlan, options?: StartReplay): Promise<ReplayStatus>;
  /** The records of a run, as they ended in its generation. */
  records(run: string): AsyncIterable<ListedRecord>;
  /** The inputs of a run, as they were frozen. */
  inputs(run: string): Promise<readonly ReplayInput[]>;
  /** Continues a run that was stopped or cancelled, or whose process died. */
  resume(run: string, options?: StartReplay): Promise<ReplayStatus>;
  /** Of the code and the settings that a replay would have now. */
  digests(): RunDigests;
  list(): Promise<readonly ReplayStatus[]>;
  show(run: string): Promise<ReplayStatus>;
  diff(run: string, samplesMax: number): Promise<readonly TableDifference[]>;
  /** The rows of a shadow, as hashes. */
  contents(run: string): Promise<readonly TableContent[]>;
  promote(run: string): Promise<Promotion>;
  drop(run: string): Promise<void>;
  cancel(run: string): Promise<void>;
}
