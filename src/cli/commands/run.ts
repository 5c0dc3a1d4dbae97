// tidegate run: runs a pipeline on AWS, or on any endpoint that speaks for it.

import type { RunningPipeline } from "../../run/run-pipeline.ts";
import { command, EXIT_OK, type Flags, toggle } from "../command.ts";
import { runUntilStopped } from "../run-until-stopped.ts";
import { describeFailure } from "../screen/output.ts";
import { createReporter } from "../screen/pipeline-reporter.ts";
import { stopSignal } from "../stop-signals.ts";
import { settingFlags, settingsFrom } from "../words/setting-flags.ts";

export const PIPELINE_FILE = {
  name: "FILE",
  doc: "A pipeline file, whose default export is pipeline({ ... }).",
} as const;

const flags: Flags = {
  ...settingFlags("run"),
  json: toggle("Print lines of JSON."),
};

export const run = command({
  name: "run",
  summary: "Run a pipeline on AWS, or on any endpoint that speaks for it.",
  argument: PIPELINE_FILE,
  flags,
  async run({ argument: file = "", flags, out }) {
    const stopped = stopSignal();
    // Loaded here, so that help and refusals need not wait for it.
    const { loadPipeline } = await import("../../run/open/load-pipeline.ts");
    const pipeline = await loadPipeline(file);
    const { startPipeline } = await import("../../run/start-pipeline.ts");
    const reporter = createReporter(out, flags.json ? "json" : out.terminal ? "live" : "plain");
    const { onLogLine } = reporter;
    const onError = (error: unknown) => reporter.tell("trouble", describeFailure(error));
    const options = { onError, ...(onLogLine !== undefined && { onLogLine }) };
    let running: RunningPipeline | null = null;
    try {
      running = await startPipeline(pipeline, settingsFrom("run", flags), options);
      const { name, queueName: queue, metricsOrigin: metrics, findings } = running;
      const told = `tidegate runs ${name} from the queue ${queue} (metrics at ${metrics}/metrics)`;
      reporter.ready(told, { pipeline: name, queue, metrics, pid: process.pid });
      for (const finding of findings) reporter.tell("finding", finding);
      reporter.watch(running, queue);
      await runUntilStopped(running, reporter, stopped, running.settings.drainMs);
    } finally {
      await running?.stop();
      reporter.close();
    }
    return EXIT_OK;
  },
});
