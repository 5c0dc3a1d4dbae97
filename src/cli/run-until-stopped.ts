// Run until stopped: how a command that runs a pipeline ends.
//   E1. The first signal drains, and one line says what is waited for. The second ends the process
//       at once, which is safe: what was not acknowledged is delivered again (stop-signals.ts).
//   E2. A pipeline that stopped by itself ends the command as a failure, so that whatever watches
//       the process starts it anew.

import type { RunningPipeline } from "../run/run-pipeline.ts";
import type { PipelineReporter } from "./screen/pipeline-reporter.ts";
import { span } from "./screen/pipeline-summary.ts";

export async function runUntilStopped(
  running: RunningPipeline,
  reporter: PipelineReporter,
  stopped: Promise<string>,
  drainMs: number,
): Promise<void> {
  const signal = await Promise.race([stopped, running.failed]);
  if (signal instanceof Error) throw signal; // E2
  const { inFlight } = running.snapshot();
  const work = inFlight === 1 ? "1 record" : `${inFlight} records`;
  const waits =
    inFlight === 0
      ? "nothing is at work, what is in hand goes back to the queue"
      : `waiting up to ${span(drainMs)} for ${work} at work`;
  reporter.tell("draining", `${signal}: ${waits}; once more to stop at once.`); // E1
  await running.drain();
  reporter.close();
}
