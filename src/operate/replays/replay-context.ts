// Replay context: the pipeline whose replays are meant, with its ledger, sink and objects.
//   C1. The queue of the pipeline is not opened.
//   C2. Without a pipeline, a run is found in the ledger, and the file that it recorded is loaded.

import { existsSync } from "node:fs";
import type { Pipeline } from "../../ingest/spec/define-pipeline.ts";
import type { RunManifest } from "../../lineage/run-manifest.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Ledger } from "../../ports/ledger.ts";
import type { LedgerScope } from "../../ports/record.ts";
import type { Shadow } from "../../ports/shadow.ts";
import { OpenedObjects } from "../../replay/opened-objects.ts";
import type { RunDigests } from "../../replay/plan-replay.ts";
import { listReplays, type ReplayEntry } from "../../replay/replay-registry.ts";
import { digestOfFile, digestOfFunctions, pipelineDigest } from "../../run/upkeep/digests.ts";
import { Once } from "../once.ts";
import type { Sources } from "../sources.ts";
import { openShadow } from "./open-shadow.ts";
import { refuseReplay } from "./replay-refusals.ts";

/** What the replays of a pipeline need in order to be looked at, promoted and dropped. */
export interface ReplayContext {
  readonly pipeline: Pipeline;
  readonly ledger: Ledger;
  /** The URL of the ledger, beside which tables are. */
  readonly url: string;
  readonly clock: Clock;
}

/** What a replay needs in order to run, too. */
export interface RunContext extends ReplayContext {
  /** The file of the pipeline, for the code digest. */
  readonly file: string | undefined;
  /** Keeps what the check of versions opened, so that the handler need not ask again. */
  readonly objects: () => Promise<OpenedObjects>;
}

export async function openContext(sources: Sources): Promise<RunContext> {
  const { pipeline } = await sources.run();
  const ledger = await sources.writer();
  const closing = new AbortController();
  sources.onClose(() => closing.abort());
  const opened = new Once<OpenedObjects>();
  const open = async () => new OpenedObjects(await sources.objects(), closing.signal);
  const objects = () => opened.get(open);
  const { ledgerUrl: url, clock, file } = sources;
  return { pipeline, ledger, url, clock, file, objects };
}

/** All replays of the ledger, or of the pipeline that is named. */
export async function allReplays(sources: Sources): Promise<readonly ReplayEntry[]> {
  const ledger = await sources.reader();
  const scopes = await sources.scopes();
  return (await Promise.all(scopes.map((scope) => listReplays(ledger, scope)))).flat();
}

/** The sources of the pipeline that has the run (C2). */
export async function sourcesOfRun(sources: Sources, run: string): Promise<Sources> {
  if ((await sources.pipeline()) !== null) return sources;
  const entry = (await allReplays(sources)).find((each) => each.run === run);
  if (entry === undefined) refuseReplay(`unknown run "${run}"; list the replays`);
  if (entry.file === null || !existsSync(entry.file)) {
    refuseReplay(`the pipeline file of the run ${run} is not there; name it`);
  }
  return sources.of(entry.file);
}

/** The sources of the pipeline that a manifest is of. */
export async function sourcesOfManifest(sources: Sources, { run }: RunManifest): Promise<Sources> {
  if ((await sources.pipeline()) !== null) return sources;
  return run.file === null
    ? refuseReplay("the manifest names no pipeline file; name it")
    : sources.of(run.file);
}

export function scopeOf({ pipeline }: ReplayContext): LedgerScope {
  return { pipeline: pipeline.name, generation: pipeline.generation };
}

/** Throws TG_REPLAY_REFUSED for a sink without shadows. */
export function shadowOf(
  { pipeline, ledger, url }: ReplayContext,
  id: string,
  run: string,
): Shadow {
  return openShadow(pipeline, ledger, url, { id, run });
}

/** Of the code and the settings that a replay would have now. */
export function digestsNow({ pipeline, file }: RunContext): RunDigests {
  return {
    codeDigest: file === undefined ? digestOfFunctions(pipeline) : digestOfFile(file),
    configDigest: pipelineDigest(pipeline),
  };
}
