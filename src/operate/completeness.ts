// Completeness: up to which event time pipelines are complete, asked from outside of them.
//   C1. With a pipeline, its queues are looked at. A pipeline's name alone has only the ledger's
//       answer, which does not know messages that were never received.

import { type Progress, progressOf } from "../core/progress.ts";
import { type DurationMs, durationMs, type EpochMs, epochMs, seconds } from "../core/units.ts";
import {
  type Completeness,
  readCompleteness,
  readStoredCompleteness,
} from "../ingest/late/complete-up-to.ts";
import { watermarkHolder } from "../ingest/running/partition-report.ts";
import type { LedgerScope } from "../ports/record.ts";
import { devNames } from "../run/dev/dev-setup.ts";
import type { Sources } from "./sources.ts";

export type { Completeness, Holder } from "../ingest/late/complete-up-to.ts";

/** Up to where one pipeline is complete, and what holds it back. */
export interface PipelineCompleteness extends Completeness, LedgerScope {
  /** Whether queued messages were looked at (C1). */
  readonly looked: boolean;
  /** The partition that holds the watermark back; null if all are idle. */
  readonly partition: string | null;
}

/** Options of `waitUntil`. */
export interface WaitRequest {
  /** How long to wait at most. Default: no limit. */
  readonly timeoutMs?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Asks up to which event time pipelines are complete. */
export interface CompletenessReader {
  /** Of the pipeline, or of all pipelines of the ledger. */
  read(): Promise<readonly PipelineCompleteness[]>;
  /**
   * Waits until every record before an instant, in milliseconds since 1970, is settled. Each step
   * is a state that changed; the result is whether the instant was reached.
   */
  waitUntil(at: number, request?: WaitRequest): Progress<PipelineCompleteness, boolean>;
}

const POLL_MS: DurationMs = seconds(1);

export function completenessOf(sources: Sources): CompletenessReader {
  return {
    async read() {
      if ((await sources.pipeline()) !== null) return [await readOne(sources)];
      const all: PipelineCompleteness[] = [];
      for (const scope of await sources.scopes()) all.push(await readStored(sources, scope));
      return all;
    },
    waitUntil(at, request = {}) {
      let isReached = false;
      async function* run() {
        for await (const state of statesUntil(sources, epochMs(at), request)) {
          isReached = state.at !== null && state.at >= at;
          yield state;
        }
      }
      return progressOf(run(), () => isReached);
    },
  };
}

async function* statesUntil(
  sources: Sources,
  at: EpochMs,
  { timeoutMs, signal }: WaitRequest,
): AsyncGenerator<PipelineCompleteness> {
  const { clock } = sources;
  const startedAt = clock.monotonic();
  let shown = "";
  for (;;) {
    signal?.throwIfAborted();
    const state = await readOne(sources);
    const text = JSON.stringify(state);
    if (text !== shown) yield state;
    shown = text;
    if (state.at !== null && state.at >= at) return;
    const waitedMs = clock.monotonic() - startedAt;
    if (timeoutMs !== undefined && waitedMs >= durationMs(timeoutMs)) return;
    await clock.sleep(POLL_MS, signal);
  }
}

/** C1 */
async function readOne(sources: Sources): Promise<PipelineCompleteness> {
  const [ledger, scope, pipeline] = await Promise.all([
    sources.reader(),
    sources.scope(),
    sources.pipeline(),
  ]);
  if (pipeline === null) return readStored(sources, scope);
  const queues = await sources.queues(async () => devNames(pipeline).queue);
  const environment = queues?.environment ?? null;
  if (environment === null) return readStored(sources, scope);
  const { clock, random } = sources;
  const looks = await environment.looks();
  const ports = { clock, random, ledger, looks, objects: environment.objects };
  const completeness = await readCompleteness(ports, pipeline);
  return described(sources, scope, completeness, true);
}

async function readStored(sources: Sources, scope: LedgerScope): Promise<PipelineCompleteness> {
  const completeness = await readStoredCompleteness(await sources.reader(), scope);
  return described(sources, scope, completeness, false);
}

async function described(
  sources: Sources,
  scope: LedgerScope,
  completeness: Completeness,
  looked: boolean,
): Promise<PipelineCompleteness> {
  const { clock } = sources;
  const partition = await watermarkHolder({ clock }, await sources.reader(), scope);
  return { ...scope, ...completeness, looked, partition };
}
