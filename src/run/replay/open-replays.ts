// Open replays: the replays of a pipeline, on its ledger, sink and objects.
//   O1. One replay of a pipeline runs at a time. A process that was killed does not block the next:
//       on the same machine its process id tells, elsewhere its heartbeat.
//   O2. Missing object versions are reported before anything is written.
//   O3. The queue of the pipeline is not opened.

import { hostname } from "node:os";
import { resolve } from "node:path";
import { days, msBetween } from "../../core/units.ts";
import type { Pipeline } from "../../ingest/spec/define-pipeline.ts";
import { SILENT } from "../../ingest/telemetry/silent-telemetry.ts";
import { systemCallLimit } from "../../platform/call-limit.ts";
import { watchUses } from "../../platform/handler-uses.ts";
import { systemPorts } from "../../platform/index.ts";
import type { Ledger, ListedRecord } from "../../ports/ledger.ts";
import type { LedgerScope } from "../../ports/record.ts";
import type { Promotion, Shadow, TableContent, TableDifference } from "../../ports/shadow.ts";
import { createRowReader } from "../../readers/row-reader.ts";
import { type CheckedVersions, checkVersions } from "../../replay/check-versions.ts";
import { OpenedObjects } from "../../replay/opened-objects.ts";
import {
  planReplay,
  type ReplayPlan,
  type ReplayRequest,
  type RunDigests,
} from "../../replay/plan-replay.ts";
import { HOLDER_MS_MAX, readHolder, writeHolder } from "../../replay/replay-holder.ts";
import type { ReplayInput } from "../../replay/replay-input.ts";
import {
  cancelReplay,
  findReplay,
  forgetReplay,
  frozenInputs,
  isCancelled,
  listReplays,
  notePromotion,
  type ReplayEntry,
  registerReplay,
  requireReplay,
  uncancelReplay,
} from "../../replay/replay-registry.ts";
import { type ReplayOutcome, recordsOfReplay, runReplay } from "../../replay/run-replay.ts";
import { openAwsObjects } from "../open/aws-environment.ts";
import { findServer } from "../open/find-server.ts";
import { openLedger } from "../open/open-ledger.ts";
import { openSink } from "../open/open-sink.ts";
import { parseStoreUrl } from "../open/store-url.ts";
import { digestOfFile, digestOfFunctions } from "../runs/code-digest.ts";
import { pipelineDigest } from "../runs/config-digest.ts";
import { openShadow } from "./open-shadow.ts";
import { recordReplay, watchedPipeline } from "./record-replay.ts";
import { goneText, isProcessRunning, refuseReplay } from "./replay-refusals.ts";
import type {
  CheckedPlan,
  ReplayState,
  ReplayStatus,
  Replays,
  ReplaysOptions,
  StartReplay,
} from "./replays.ts";

export async function openReplays(pipeline: Pipeline, options: ReplaysOptions): Promise<Replays> {
  const retentionMs = days(pipeline.ledgerRetentionDays);
  const ledger = await openLedger(options.ledger, systemPorts, { retentionMs, migrate: false });
  return new LedgerReplays(pipeline, options, ledger);
}

/** On an open ledger, which it closes only when it is disposed of. */
export class LedgerReplays implements Replays {
  readonly #pipeline: Pipeline;
  readonly #options: ReplaysOptions;
  readonly #ledger: Ledger;
  readonly #scope: LedgerScope;
  readonly #ports;
  readonly #closing = new AbortController();
  #opened: OpenedObjects | null = null;

  constructor(pipeline: Pipeline, options: ReplaysOptions, ledger: Ledger) {
    this.#pipeline = pipeline;
    this.#options = options;
    this.#ledger = ledger;
    this.#scope = { pipeline: pipeline.name, generation: pipeline.generation };
    this.#ports = { ...systemPorts, ledger };
  }

  async plan(request: ReplayRequest, signal?: AbortSignal): Promise<CheckedPlan> {
    if (request.into === "shadow") this.#openShadow("00000000", "").close();
    const plan = await planReplay(this.#ports, this.#pipeline, request, this.digests());
    const entry = await findReplay(this.#ledger, this.#scope, plan.run);
    const existing = entry === null ? null : await this.#status(entry);
    const { present, gone, superseded } = await this.#checked(plan, signal);
    return { ...plan, existing, present, gone, superseded };
  }

  async start(request: ReplayRequest, options: StartReplay = {}): Promise<ReplayStatus> {
    const plan = await this.plan(request, options.signal);
    if (plan.existing !== null) return await this.resume(plan.run, options);
    return await this.#startChecked(plan, plan, options);
  }

  async startPlan(plan: ReplayPlan, options: StartReplay = {}): Promise<ReplayStatus> {
    const checked = await this.#checked(plan, options.signal);
    return await this.#startChecked(plan, checked, options);
  }

  async #startChecked(
    plan: ReplayPlan,
    { present: inputs, gone, superseded }: CheckedVersions,
    options: StartReplay,
  ): Promise<ReplayStatus> {
    await this.#refuseRunning();
    if (gone.length > 0 && options.skipGone !== true) {
      refuseReplay(goneText(gone, this.#pipeline.source.contents)); // O2
    }
    const missing = [...gone, ...superseded];
    if (inputs.length === 0)
      refuseReplay("no version of the window can be read; nothing to replay");
    const file = this.#options.file === undefined ? null : resolve(this.#options.file);
    const entry = await registerReplay(
      this.#ports,
      this.#scope,
      { ...plan, inputs },
      { missing, file },
    );
    return await this.#run(entry, options);
  }

  async *records(run: string): AsyncGenerator<ListedRecord> {
    const { generation } = await requireReplay(this.#ledger, this.#scope, run);
    yield* recordsOfReplay(this.#ledger, { ...this.#scope, generation });
  }

  async #checked(
    { inputs, generation }: ReplayPlan,
    signal = new AbortController().signal,
  ): Promise<CheckedVersions> {
    const objects = await this.#objects();
    const looking = { open: objects.look.bind(objects) };
    return await checkVersions(looking, { ...this.#pipeline, generation }, inputs, signal);
  }

  async inputs(run: string): Promise<readonly ReplayInput[]> {
    const entry = await requireReplay(this.#ledger, this.#scope, run);
    return await frozenInputs(this.#ledger, this.#scope, entry);
  }

  async resume(run: string, options: StartReplay = {}): Promise<ReplayStatus> {
    const entry = await requireReplay(this.#ledger, this.#scope, run);
    const status = await this.#status(entry);
    switch (status.state) {
      case "ready":
      case "promoted":
      case "complete":
        return status;
      default:
        await this.#refuseRunning();
        this.#refuseOtherCode(entry);
        return await this.#run(entry, options);
    }
  }

  async list(): Promise<readonly ReplayStatus[]> {
    const all: ReplayStatus[] = [];
    for (const entry of await listReplays(this.#ledger, this.#scope)) {
      all.push(await this.#status(entry));
    }
    return all;
  }

  async show(run: string): Promise<ReplayStatus> {
    return await this.#status(await requireReplay(this.#ledger, this.#scope, run));
  }

  async diff(run: string, samplesMax: number): Promise<readonly TableDifference[]> {
    return await this.#withShadow(run, async (shadow) => {
      if ((await shadow.state()) === null) refuseReplay(`the run ${run} has no shadow to compare`);
      return await shadow.diff(samplesMax);
    });
  }

  contents(run: string): Promise<readonly TableContent[]> {
    return this.#withShadow(run, (shadow) => shadow.contents());
  }

  async promote(run: string): Promise<Promotion> {
    const entry = await requireReplay(this.#ledger, this.#scope, run);
    const promotion = await this.#withShadow(run, (shadow) => shadow.promote());
    await notePromotion(this.#ports, this.#scope, entry);
    return promotion;
  }

  async drop(run: string): Promise<void> {
    const entry = await requireReplay(this.#ledger, this.#scope, run);
    const { state } = await this.#status(entry);
    if (state === "running") {
      refuseReplay(`the run ${run} is running; cancel it first with tidegate replay cancel ${run}`);
    }
    // A process may have died between the promotion and its note.
    if (state === "promoted") await notePromotion(this.#ports, this.#scope, entry);
    if (entry.request.into === "shadow") {
      await this.#withShadow(run, (shadow) => shadow.drop());
    }
    await forgetReplay(this.#ledger, this.#scope, entry);
  }

  async cancel(run: string): Promise<void> {
    const entry = await requireReplay(this.#ledger, this.#scope, run);
    const { state } = await this.#status(entry);
    if (state !== "running") refuseReplay(`the run ${run} is ${state}, not running`);
    await cancelReplay(this.#ports, this.#scope, entry);
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort();
    return this.#ledger.close();
  }

  async #run(entry: ReplayEntry, options: StartReplay): Promise<ReplayStatus> {
    const { signal = new AbortController().signal, concurrency = null } = options;
    const inputs = await frozenInputs(this.#ledger, this.#scope, entry);
    await uncancelReplay(this.#ledger, this.#scope, entry);
    const shadow =
      entry.request.into === "shadow" ? this.#openShadow(entry.shadow, entry.run) : null;
    await shadow?.open();
    const sink = shadow === null ? await this.#liveSink() : shadow.sink();
    await sink?.prepare();
    const hold = (outcome: ReplayOutcome | null) =>
      writeHolder(this.#ports, this.#scope, entry, { host: hostname(), pid: process.pid, outcome });
    await hold(null);
    let heldAt = systemPorts.clock.monotonic();
    const progress = { done: 0 };
    const recorder = await recordReplay(this.#ports, this.#pipeline, entry, progress);
    let outcome: ReplayOutcome | null = null;
    const watch = watchUses();
    try {
      outcome = await runReplay(
        {
          ...this.#ports,
          callLimit: systemCallLimit,
          objects: await this.#objects(),
          rows: createRowReader(systemPorts),
          sink,
          telemetry: this.#options.telemetry ?? SILENT,
        },
        inputs,
        {
          pipeline: watchedPipeline(this.#pipeline, watch),
          generation: entry.generation,
          run: entry.run,
          owner: `${hostname()}:${process.pid}:${entry.run.slice(0, 8)}`,
          concurrency,
          intoLive: shadow === null,
          onPause: options.onPause,
          signal,
          onProgress: (now) => {
            progress.done = now.done;
            options.onProgress?.(now);
          },
          isCancelled: async () => {
            if (systemPorts.clock.monotonic() - heldAt > HOLDER_MS_MAX / 4) {
              heldAt = systemPorts.clock.monotonic();
              await hold(null);
            }
            return await isCancelled(this.#ledger, this.#scope, entry);
          },
        },
      );
      if (outcome.how === "complete") await shadow?.seal();
      await hold(outcome);
    } finally {
      watch.close();
      await recorder.close(outcome?.how === "complete" ? "ended" : "to be continued");
      await sink?.close();
      await shadow?.close();
    }
    return { ...(await this.#status(entry)), uses: watch.uses() };
  }

  async #status(entry: ReplayEntry): Promise<ReplayStatus> {
    const holder = await readHolder(this.#ledger, this.#scope, entry);
    const outcome = holder?.outcome ?? null;
    const isShadow = entry.request.into === "shadow";
    const shadow = isShadow ? this.#openShadow(entry.shadow, entry.run) : null;
    const tables = shadow?.tables ?? new Map();
    const stored = await shadow?.state();
    await shadow?.close();
    const uses: ReplayStatus["uses"] = [];
    const statusOf = (state: ReplayState): ReplayStatus => ({
      entry,
      state,
      outcome,
      tables,
      uses,
    });
    if (stored === "promoted" || stored === "ready") return statusOf(stored);
    if (outcome?.how === "complete") return statusOf("complete");
    const isAlive =
      holder !== null &&
      outcome === null &&
      msBetween(holder.at, systemPorts.clock.now()) < HOLDER_MS_MAX &&
      (holder.host !== hostname() || isProcessRunning(holder.pid));
    if (isAlive) return statusOf("running"); // O1
    if (await isCancelled(this.#ledger, this.#scope, entry)) return statusOf("cancelled");
    return statusOf(outcome?.how === "failed" ? "failed" : "stopped");
  }

  /** O1 */
  async #refuseRunning(): Promise<void> {
    for (const { state, entry } of await this.list()) {
      if (state !== "running") continue;
      refuseReplay(
        `the run ${entry.run} of ${this.#scope.pipeline} is running; wait for it, or cancel it ` +
          `with tidegate replay cancel ${entry.run}`,
      );
    }
  }

  #refuseOtherCode({ run, digests }: ReplayEntry): void {
    const now = this.digests();
    const isCode = digests.codeDigest !== now.codeDigest;
    if (!isCode && digests.configDigest === now.configDigest) return;
    refuseReplay(
      `the run ${run} began with other ${isCode ? "code" : "settings or frozen values"}, and would ` +
        `mix both; drop it with tidegate replay drop ${run}, and start a new one`,
    );
  }

  digests(): RunDigests {
    const { file } = this.#options;
    return {
      codeDigest: file === undefined ? digestOfFunctions(this.#pipeline) : digestOfFile(file),
      configDigest: pipelineDigest(this.#pipeline),
    };
  }

  /** Keeps what the check of versions opened, so that the handler need not ask again. */
  async #objects(): Promise<OpenedObjects> {
    this.#opened ??= new OpenedObjects(
      this.#options.objects ?? (await openAwsObjects(await findServer(this.#options))),
      this.#closing.signal,
    );
    return this.#opened;
  }

  #liveSink() {
    return openSink(this.#pipeline, this.#ledger, parseStoreUrl(this.#options.ledger, "ledger"));
  }

  #openShadow(id: string, run: string): Shadow {
    return openShadow(this.#pipeline, this.#ledger, this.#options.ledger, { id, run });
  }

  async #withShadow<T>(run: string, work: (shadow: Shadow) => Promise<T>): Promise<T> {
    const entry = await requireReplay(this.#ledger, this.#scope, run);
    if (entry.request.into === "live") {
      refuseReplay(`the run ${run} wrote to the live tables; it has no shadow`);
    }
    const shadow = this.#openShadow(entry.shadow, entry.run);
    try {
      return await work(shadow);
    } finally {
      await shadow.close();
    }
  }
}
