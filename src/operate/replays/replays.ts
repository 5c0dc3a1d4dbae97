// Replays: past records through the pipeline again, into a shadow of its tables or into the tables.
//   P1. plan, list, show and diff change nothing.
//   P2. A run is found by its id. Without a pipeline, the file that it recorded is loaded.

import { TidegateError } from "../../core/errors.ts";
import { type Progress, progressOfAction } from "../../core/progress.ts";
import { epochMs } from "../../core/units.ts";
import type { RunManifest } from "../../lineage/run-manifest.ts";
import type { Promotion, TableContent, TableDifference } from "../../ports/shadow.ts";
import type { ReplayRequest } from "../../replay/plan-replay.ts";
import type { Sources } from "../sources.ts";
import {
  allReplays,
  openContext,
  type ReplayContext,
  type RunContext,
  sourcesOfManifest,
  sourcesOfRun,
} from "./replay-context.ts";
import { writeReplayManifest } from "./replay-manifest.ts";
import { contentsOf, diffReplay, dropReplay, promoteReplay } from "./replay-promotion.ts";
import {
  type CheckedPlan,
  planChecked,
  type ReplayRunOptions,
  type ReplayStep,
  resumeReplay,
  startRun,
} from "./replay-runner.ts";
import { cancelRun, type ReplayStatus, showReplay, statusesOf } from "./replay-status.ts";
import { type Reproduction, reproduceManifest } from "./reproduce.ts";

export type {
  Promotion,
  RowDifference,
  TableContent,
  TableDifference,
} from "../../ports/shadow.ts";
export type { ReplayEntry } from "../../replay/replay-registry.ts";
export type { ReplayProgress } from "../../replay/run-replay.ts";
export type { CheckedPlan, ReplayRunOptions, ReplayStep } from "./replay-runner.ts";
export type { ReplayState, ReplayStatus } from "./replay-status.ts";
export { parseRunManifest, type Reproduction } from "./reproduce.ts";

/** Which records a replay runs again. */
export interface ReplaySelection {
  /** First event time, in milliseconds since 1970. */
  readonly from: number;
  /** End of the window, exclusive. */
  readonly to: number;
  /** Only objects of this bucket. Default: the pipeline's, if there is a prefix. */
  readonly bucket?: string | null | undefined;
  /** Only objects that start with it. */
  readonly prefix?: string | null | undefined;
  /** Where to write. Default: shadow tables. */
  readonly into?: "shadow" | "live" | undefined;
}

/** The replays of a pipeline. */
export interface Replays {
  /** What a replay would run. */
  plan(selection: ReplaySelection, signal?: AbortSignal): Promise<CheckedPlan>;
  /** Runs the selection, or continues the run of the same selection. */
  start(selection: ReplaySelection, options?: ReplayRunOptions): Progress<ReplayStep, ReplayStatus>;
  /** Continues a run that was stopped or cancelled, or whose process died. */
  resume(run: string, options?: ReplayRunOptions): Progress<ReplayStep, ReplayStatus>;
  /** The replays of the pipeline, or of all pipelines of the ledger; newest first. */
  list(): Promise<readonly ReplayStatus[]>;
  show(run: string): Promise<ReplayStatus>;
  /** What a promotion would change, with at most so many rows of each table. Default: 10. */
  diff(run: string, samplesMax?: number): Promise<readonly TableDifference[]>;
  /** The rows of the shadow tables as hashes, to compare two replays. */
  contents(run: string): Promise<readonly TableContent[]>;
  /** Replaces the live rows of the replayed records, in one transaction. */
  promote(run: string): Promise<Promotion>;
  /** Removes the shadow tables, and forgets the run. */
  drop(run: string): Promise<void>;
  /** Stops a run after its current records. */
  cancel(run: string): Promise<void>;
  /** Writes `RUN/run_manifest.json` to a folder or an s3:// URL; returns where. */
  writeManifest(run: string, to: string): Promise<string>;
  /** Runs the inputs of a manifest again, into a shadow, and compares the results. */
  reproduce(
    manifest: RunManifest,
    options?: Pick<ReplayRunOptions, "signal">,
  ): Promise<Reproduction>;
}

const SAMPLES = 10;

export function replaysOf(sources: Sources): Replays {
  const contexts = new Map<Sources, Promise<RunContext>>();
  const contextOf = (of: Sources) => {
    const context = contexts.get(of) ?? openContext(of);
    contexts.set(of, context);
    return context;
  };
  const onRun = async <T>(run: string, work: (context: ReplayContext) => Promise<T>) =>
    work(await contextOf(await sourcesOfRun(sources, run))); // P2
  return {
    async plan(selection, signal) {
      const context = await contextOf(sources);
      return planChecked(context, requestOf(context, selection), signal);
    },
    start: (selection, options = {}) =>
      progressOfAction(async (report, signal) => {
        const context = await contextOf(sources);
        const request = requestOf(context, selection);
        return startRun(context, request, { ...options, signal }, report);
      }, options.signal),
    resume: (run, options = {}) =>
      progressOfAction(async (report, signal) => {
        const context = await contextOf(await sourcesOfRun(sources, run));
        return resumeReplay(context, run, { ...options, signal }, report);
      }, options.signal),
    async list() {
      if ((await sources.pipeline()) !== null) return statusesOf(await contextOf(sources));
      const files = (await allReplays(sources)).flatMap(({ file }) => file ?? []);
      const lists = [...new Set(files)].map(async (file) =>
        statusesOf(await contextOf(sources.of(file))),
      );
      return (await Promise.all(lists)).flat();
    },
    show: (run) => onRun(run, (context) => showReplay(context, run)),
    diff: (run, samplesMax = SAMPLES) =>
      onRun(run, (context) => diffReplay(context, run, samplesMax)),
    contents: (run) => onRun(run, (context) => contentsOf(context, run)),
    promote: (run) => onRun(run, (context) => promoteReplay(context, run)),
    drop: (run) => onRun(run, (context) => dropReplay(context, run)),
    cancel: (run) => onRun(run, (context) => cancelRun(context, run)),
    writeManifest: (run, to) =>
      onRun(run, async (context) => {
        const { entry } = await showReplay(context, run);
        return writeReplayManifest(context, await sources.server(), entry, to);
      }),
    async reproduce(manifest, options = {}) {
      const of = await sourcesOfManifest(sources, manifest);
      return reproduceManifest(await contextOf(of), manifest, options);
    },
  };
}

function requestOf({ pipeline }: ReplayContext, selection: ReplaySelection): ReplayRequest {
  const { from, to, prefix = null, into = "shadow" } = selection;
  const { bucket = prefix === null ? null : pipeline.source.bucket } = selection;
  if (prefix !== null && bucket === null) {
    throw new TidegateError("TG_VALUE_INVALID", "prefix needs a bucket: name it, too");
  }
  return { from: epochMs(from), to: epochMs(to), bucket, prefix, into };
}
