// Replay runner: plans a replay, runs it, and continues one that ended early.
//   R1. Missing object versions are reported before anything is written.
//   R2. A run is continued by the code and the settings that it began with.

import { resolve } from "node:path";
import type { Pause } from "../../ingest/running/pause.ts";
import { SILENT } from "../../ingest/telemetry/silent-telemetry.ts";
import { everyRecord } from "../../ledger/every-record.ts";
import { systemCallLimit } from "../../platform/call-limit.ts";
import { watchUses } from "../../platform/handler-uses.ts";
import { systemPorts } from "../../platform/index.ts";
import type { ListedRecord } from "../../ports/ledger.ts";
import type { Shadow } from "../../ports/shadow.ts";
import type { Sink } from "../../ports/sink.ts";
import type { Telemetry } from "../../ports/telemetry.ts";
import { createRowReader } from "../../readers/row-reader.ts";
import { type CheckedVersions, checkVersions } from "../../replay/check-versions.ts";
import { planReplay, type ReplayPlan, type ReplayRequest } from "../../replay/plan-replay.ts";
import { HOLDER_MS_MAX, writeHolder } from "../../replay/replay-holder.ts";
import type { ReplayInput } from "../../replay/replay-input.ts";
import {
  findReplay,
  frozenInputs,
  isCancelled,
  type ReplayEntry,
  registerReplay,
  requireReplay,
  uncancelReplay,
} from "../../replay/replay-registry.ts";
import { type ReplayOutcome, type ReplayProgress, runReplay } from "../../replay/run-replay.ts";
import { closeAll } from "../../run/open/close-all.ts";
import { openSink } from "../../run/open/open-sink.ts";
import { parseStoreUrl } from "../../run/open/store-url.ts";
import { thisProcess } from "../../run/upkeep/process-running.ts";
import { recordReplay, watchedPipeline } from "./record-replay.ts";
import { digestsNow, type RunContext, scopeOf, shadowOf } from "./replay-context.ts";
import { goneText, refuseReplay } from "./replay-refusals.ts";
import { type ReplayStatus, refuseRunning, statusOf } from "./replay-status.ts";

/** How a replay runs. */
export interface ReplayRunOptions {
  /** Records at the same time. Default: the pipeline's. */
  readonly concurrency?: number | undefined;
  /** Continues without versions that are gone, instead of refusing. */
  readonly skipGone?: boolean | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Receives metrics and log lines. Default: none. */
  readonly telemetry?: Telemetry | undefined;
}

/** How far a replay is, or that a pause makes it wait; null when it continues. */
export type ReplayStep =
  | ({ readonly kind: "progress" } & ReplayProgress)
  | { readonly kind: "waiting"; readonly pause: Pause | null };

/** What a replay would run, and which versions it cannot read. */
export interface CheckedPlan extends ReplayPlan, CheckedVersions {
  /** The run of the same request, if there is one. */
  readonly existing: ReplayStatus | null;
}

interface ReplayTarget {
  readonly shadow: Shadow | null;
  readonly sink: Sink | null;
}

type OnStep = (step: ReplayStep) => void;

/** Writes nothing. */
export async function planChecked(
  context: RunContext,
  request: ReplayRequest,
  signal: AbortSignal | undefined,
): Promise<CheckedPlan> {
  if (request.into === "shadow") await shadowOf(context, "00000000", "").close();
  const { pipeline, ledger } = context;
  const plan = await planReplay(context, pipeline, request, digestsNow(context));
  const entry = await findReplay(ledger, scopeOf(context), plan.run);
  const existing = entry === null ? null : await statusOf(context, entry);
  return { ...plan, existing, ...(await checked(context, plan, signal)) };
}

/** Runs the request, or continues the run of the same request. */
export async function startRun(
  context: RunContext,
  request: ReplayRequest,
  options: ReplayRunOptions,
  onStep: OnStep,
): Promise<ReplayStatus> {
  const plan = await planChecked(context, request, options.signal);
  if (plan.existing !== null) return resumeReplay(context, plan.run, options, onStep);
  return startChecked(context, plan, plan, options, onStep);
}

/** Runs a plan that was made elsewhere, as a new run. */
export async function startPlan(
  context: RunContext,
  plan: ReplayPlan,
  options: ReplayRunOptions,
): Promise<ReplayStatus> {
  const versions = await checked(context, plan, options.signal);
  return startChecked(context, plan, versions, options, () => undefined);
}

/** Continues a run that was stopped or cancelled, or whose process died. */
export async function resumeReplay(
  context: RunContext,
  run: string,
  options: ReplayRunOptions,
  onStep: OnStep,
): Promise<ReplayStatus> {
  const entry = await requireReplay(context.ledger, scopeOf(context), run);
  const status = await statusOf(context, entry);
  switch (status.state) {
    case "ready":
    case "promoted":
    case "complete":
      return status;
    default:
      await refuseRunning(context);
      refuseOtherCode(context, entry);
      return runEntry(context, entry, options, onStep);
  }
}

/** The records of a run, as they ended in its generation. */
export async function* recordsOfRun(
  context: RunContext,
  run: string,
): AsyncGenerator<ListedRecord> {
  const scope = scopeOf(context);
  const { generation } = await requireReplay(context.ledger, scope, run);
  yield* everyRecord(context.ledger, { ...scope, generation }, { by: "event-time" });
}

/** The inputs of a run, as they were frozen. */
export async function inputsOfRun(
  context: RunContext,
  run: string,
): Promise<readonly ReplayInput[]> {
  const scope = scopeOf(context);
  const entry = await requireReplay(context.ledger, scope, run);
  return frozenInputs(context.ledger, scope, entry);
}

async function startChecked(
  context: RunContext,
  plan: ReplayPlan,
  { present: inputs, gone, superseded }: CheckedVersions,
  options: ReplayRunOptions,
  onStep: OnStep,
): Promise<ReplayStatus> {
  await refuseRunning(context);
  if (gone.length > 0 && options.skipGone !== true) {
    refuseReplay(goneText(gone, context.pipeline.source.contents)); // R1
  }
  const missing = [...gone, ...superseded];
  if (inputs.length === 0) {
    refuseReplay("no version of the window can be read; nothing to replay");
  }
  const file = context.file === undefined ? null : resolve(context.file);
  const facts = { missing, file };
  const entry = await registerReplay(context, scopeOf(context), { ...plan, inputs }, facts);
  return runEntry(context, entry, options, onStep);
}

async function checked(
  context: RunContext,
  { inputs, generation }: ReplayPlan,
  signal = new AbortController().signal,
): Promise<CheckedVersions> {
  const objects = await context.objects();
  const looking = { open: objects.look.bind(objects) };
  return checkVersions(looking, { ...context.pipeline, generation }, inputs, signal);
}

/** R2 */
function refuseOtherCode(context: RunContext, { run, digests }: ReplayEntry): void {
  const now = digestsNow(context);
  const isCode = digests.codeDigest !== now.codeDigest;
  if (!isCode && digests.configDigest === now.configDigest) return;
  refuseReplay(
    `the run ${run} began with other ${isCode ? "code" : "settings or frozen values"}, and would ` +
      `mix both; drop it with tidegate replay drop ${run}, and start a new one`,
  );
}

async function runEntry(
  context: RunContext,
  entry: ReplayEntry,
  options: ReplayRunOptions,
  onStep: OnStep,
): Promise<ReplayStatus> {
  const scope = scopeOf(context);
  const inputs = await frozenInputs(context.ledger, scope, entry);
  await uncancelReplay(context.ledger, scope, entry);
  const closers: (() => unknown)[] = [];
  let uses: ReplayStatus["uses"];
  try {
    const target = await openTarget(context, entry, closers);
    uses = await runInto({ ...target, inputs }, context, entry, options, onStep);
  } finally {
    await closeAll(closers);
  }
  return { ...(await statusOf(context, entry)), uses };
}

/** Runs the records into what is open; returns what the handler used. */
async function runInto(
  { shadow, sink, inputs }: ReplayTarget & { readonly inputs: readonly ReplayInput[] },
  context: RunContext,
  entry: ReplayEntry,
  options: ReplayRunOptions,
  onStep: OnStep,
) {
  const { pipeline, ledger } = context;
  const ports = { ...systemPorts, ledger };
  const scope = scopeOf(context);
  const { signal = new AbortController().signal, concurrency = null } = options;
  const { hold, beat } = holderOf(context, entry);
  await hold(null);
  const progress = { done: 0 };
  const recorder = await recordReplay(ports, pipeline, entry, progress);
  let outcome: ReplayOutcome | null = null;
  const watch = watchUses();
  try {
    outcome = await runReplay(
      {
        ...ports,
        callLimit: systemCallLimit,
        objects: await context.objects(),
        rows: createRowReader(systemPorts),
        sink,
        telemetry: options.telemetry ?? SILENT,
      },
      inputs,
      {
        pipeline: watchedPipeline(pipeline, watch),
        generation: entry.generation,
        run: entry.run,
        owner: ownerOf(entry),
        concurrency,
        intoLive: shadow === null,
        onPause: (pause) => onStep({ kind: "waiting", pause }),
        signal,
        onProgress: (now) => {
          progress.done = now.done;
          onStep({ kind: "progress", ...now });
        },
        isCancelled: async () => {
          await beat();
          return isCancelled(ledger, scope, entry);
        },
      },
    );
    if (outcome.how === "complete") await shadow?.seal();
    await hold(outcome);
  } finally {
    watch.close();
    await recorder.close(outcome?.how === "complete" ? "ended" : "to be continued");
  }
  return watch.uses();
}

/** The shadow, or null, and the sink that the records go to. Closers are there before it fails. */
async function openTarget(
  context: RunContext,
  entry: ReplayEntry,
  closers: (() => unknown)[],
): Promise<ReplayTarget> {
  const { pipeline, ledger, url } = context;
  const isShadow = entry.request.into === "shadow";
  const shadow = isShadow ? shadowOf(context, entry.shadow, entry.run) : null;
  closers.push(() => shadow?.close());
  await shadow?.open();
  const location = parseStoreUrl(url, "ledger");
  const sink = shadow === null ? await openSink(pipeline, ledger, location) : shadow.sink();
  closers.push(() => sink?.close());
  await sink?.prepare();
  return { shadow, sink };
}

/** Says in the ledger that this process runs the replay, and how it ended. */
function holderOf(context: RunContext, entry: ReplayEntry) {
  const { clock } = systemPorts;
  let heldAt = clock.monotonic();
  const hold = (outcome: ReplayOutcome | null) =>
    writeHolder(context, scopeOf(context), entry, { ...thisProcess(), outcome });
  async function beat(): Promise<void> {
    if (clock.monotonic() - heldAt <= HOLDER_MS_MAX / 4) return;
    heldAt = clock.monotonic();
    await hold(null);
  }
  return { hold, beat };
}

function ownerOf({ run }: ReplayEntry): string {
  const { host, pid } = thisProcess();
  return `${host}:${pid}:${run.slice(0, 8)}`;
}
