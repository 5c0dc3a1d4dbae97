// Run until stopped: how a command that runs a pipeline ends.
//   E1. The first signal drains, and one line says what it waits for. The second ends the process
//       immediately, which is safe: unacknowledged messages are redelivered (stop-signals.ts).
//   E2. If the pipeline stops by itself, the command fails, so that a supervisor restarts it.
//   E3. A pipeline that has reached its limit (`once`, `maxMessages`, `exitWhenIdle`) drains, too.
//   E4. A handler that ignores its signal is abandoned: one sentence names it, and the exit code
//       says so. Its message is returned, and nothing that it does later is committed.

import { counted } from "../core/encoding/counted.ts";
import type { AbandonedWork, RunningPipelines } from "../run/combine-running.ts";
import { EXIT_ABANDONED, EXIT_OK, type ExitCode } from "./command.ts";
import type { Output } from "./screen/output.ts";
import type { PipelineReporter } from "./screen/pipeline-reporter.ts";
import { span } from "./screen/pipeline-summary.ts";

export async function runUntilStopped(
  running: RunningPipelines,
  reporter: PipelineReporter,
  stopped: Promise<string>,
  drainMs: number,
): Promise<readonly AbandonedWork[]> {
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
  const abandoned = await running.drain();
  reporter.close();
  return abandoned;
}

/** Reports handlers that were abandoned (E4). */
export function exitCodeAfter(abandoned: readonly AbandonedWork[], out: Output): ExitCode {
  const [first] = abandoned;
  if (first === undefined) return EXIT_OK;
  const { messageId, record, runningMs } = first;
  const name = record ?? `message ${messageId}`;
  const more = abandoned.length - 1;
  const others = more === 0 ? "" : `, and ${counted(more, "other handler")}`;
  out.note(
    `the handler of ${name} ignored its signal and was abandoned after ${span(runningMs)}${others}; ` +
      "its message is back in the queue, and nothing that it still does is committed",
  );
  return EXIT_ABANDONED;
}
