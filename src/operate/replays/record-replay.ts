// Record replay: the row of a replay in the ledger, and the handler as a replay runs it.

import type { Pipeline } from "../../ingest/spec/define-pipeline.ts";
import { recordedValues } from "../../ingest/spec/frozen-values.ts";
import type { UseWatch } from "../../platform/handler-uses.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Ledger } from "../../ports/ledger.ts";
import type { ReplayEntry } from "../../replay/replay-registry.ts";
import { runEnvironment } from "../../run/upkeep/record-run.ts";
import { type RunRecorder, startRunRecorder } from "../../run/upkeep/run-recorder.ts";

/** Starts the row of a replay, with what it was asked for and its frozen values. */
export function recordReplay(
  ports: { readonly clock: Clock; readonly ledger: Ledger },
  pipeline: Pipeline,
  entry: ReplayEntry,
  progress: { readonly done: number },
): Promise<RunRecorder> {
  const { run, generation, request, digests, inputsDigest, cut, file } = entry;
  const asked = { ...request, inputsDigest, cut: cut.committedAt, file };
  return startRunRecorder(
    ports,
    { pipeline: pipeline.name, generation },
    {
      id: run,
      kind: "replay",
      ...digests,
      environment: JSON.stringify(runEnvironment()),
      parameters: JSON.stringify({ ...asked, values: recordedValues(pipeline.frozen) }),
    },
    () => ({ done: progress.done }),
  );
}

/** The pipeline with a handler whose uses of the clock and of random numbers are noticed. */
export function watchedPipeline(pipeline: Pipeline, watch: UseWatch): Pipeline {
  const { handler } = pipeline;
  return { ...pipeline, handler: (event, context) => watch.watch(() => handler(event, context)) };
}
