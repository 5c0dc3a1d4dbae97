// Run until stopped: how a command that runs a pipeline ends.
//   E1. The first signal drains, and one line says what it waits for. The second ends the process
//       immediately, which is safe: unacknowledged messages are redelivered (stop-signals.ts).
//   E2. If the pipeline stops by itself, the command fails, so that a supervisor restarts it.
//   E3. A pipeline that has reached its limit (`once`, `maxMessages`, `exitWhenIdle`) drains, too.

import { counted } from "../core/encoding/counted.ts";
import type { RunningPipelines } from "../run/combine-running.ts";
import type { PipelineReporter } from "./screen/pipeline-reporter.ts";
import { span } from "./screen/pipeline-summary.ts";

export async function runUntilStopped(
  running: RunningPipelines,
  reporter: PipelineReporter,
  stopped: Promise<string>,
  drainMs: number,
): Promise<void> {
  const signal = await Promise.race([stopped, running.failed, running.finished]); // E3
  if (signal instanceof Error) throw signal; // E2
  const { inFlight } = running.snapshot();
  const work = counted(inFlight, "record");
  const state =
    inFlight === 0
      ? "nothing in progress; returning prefetched messages"
      : `waiting up to ${span(drainMs)} for ${work} in progress`;
  const text = `${signal}: ${state}. Press Ctrl-C again to stop immediately.`;
  reporter.event("draining", text); // E1
  await running.drain();
  reporter.close();
}
