// tidegate task: receives one message and processes it by a command.
//   T1. It ends with exit code 0 if the message is done, or if there was none. It ends with 1 if
//       the attempt failed. The ledger decides about a retry, not the exit code.

import { durationMs } from "../../../core/units.ts";
import type { ConsumerSnapshot } from "../../../run/combine-running.ts";
import { command, EXIT_FAILED, EXIT_OK, type Flags, wholeNumber } from "../../command.ts";
import { settingFlags, settingsFrom } from "../../flags/setting-flags.ts";
import { runUntilStopped } from "../../run-until-stopped.ts";
import { describeFailure } from "../../screen/output.ts";
import { createReporter } from "../../screen/pipeline-reporter.ts";
import { stopSignal } from "../../stop-signals.ts";
import { PIPELINE_FILE } from "./run.ts";

export const TASK_REST = {
  name: "CMD [ARGS]",
  doc: "Command that processes one record, instead of the pipeline's handler.",
} as const;

/** Flags of `run` that a command which runs tasks sets itself. */
const {
  once: _once,
  "max-messages": _max,
  "exit-when-idle": _idle,
  ...runFlags
} = settingFlags("run");

const KILL_MS_MAX = 600_000;

export const taskFlags: Flags = {
  ...runFlags,
  "metrics-port": { ...runFlags["metrics-port"], fallback: "0" } as Flags[string],
  "kill-ms": wholeNumber(
    "MS",
    { min: 0, max: KILL_MS_MAX },
    "10000",
    "How long a command may continue after SIGTERM before it gets SIGKILL.",
  ),
};

export const task = command({
  name: "task",
  summary: "Receive one message and process it by a command.",
  argument: PIPELINE_FILE,
  rest: TASK_REST,
  flags: taskFlags,
  async run({ argument: file = "", flags, rest, out }) {
    const stopped = stopSignal();
    const { checkProgram, openAttachedTask } = await import("../../../adapters/task/open-tasks.ts");
    checkProgram(rest[0] ?? "");
    const { loadPipeline } = await import("../../../run/open/load-pipeline.ts");
    const pipeline = await loadPipeline(file);
    const { startPipeline } = await import("../../../run/start-pipeline.ts");
    const reporter = createReporter(out, "plain");
    const onError = (error: unknown) => reporter.event("trouble", describeFailure(error));
    const tasks = openAttachedTask(pipeline, {
      words: rest,
      killMs: durationMs(Number(flags["kill-ms"])),
      out: process.stdout,
      err: process.stderr,
      onNote: (text) => reporter.event("finding", text),
    });
    const settings = { ...settingsFrom("run", flags), once: true, maxMessages: 1 };
    const running = await startPipeline(tasks.pipeline, settings, { onError });
    try {
      const { name, queueName: queue } = running;
      reporter.ready(`tidegate receives one message for ${name} from the queue ${queue}`, {
        pipeline: name,
        queue,
        pid: process.pid,
      });
      const stopping = stopped.then((signal) => {
        tasks.stopAll();
        return signal;
      });
      await runUntilStopped(running, reporter, stopping, running.settings.drainMs);
    } finally {
      await running.stop();
      await tasks.idle();
      reporter.close();
    }
    return exitCodeOf(running.snapshot());
  },
});

/** T1 */
function exitCodeOf({ retried, deadLettered, returned, lost }: ConsumerSnapshot) {
  return retried + deadLettered + returned + lost === 0 ? EXIT_OK : EXIT_FAILED;
}
