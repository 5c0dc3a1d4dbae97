// tidegate run: runs a pipeline on AWS, or on a compatible endpoint.

import type { RunningPipeline } from "../../run/run-pipeline.ts";
import { command, EXIT_OK, type Flags, toggle } from "../command.ts";
import { runUntilStopped } from "../run-until-stopped.ts";
import { describeFailure } from "../screen/output.ts";
import { createReporter } from "../screen/pipeline-reporter.ts";
import { stopSignal } from "../stop-signals.ts";
import { settingFlags, settingsFrom } from "../words/setting-flags.ts";

export const PIPELINE_FILE = {
  name: "FILE",
  doc: "Pipeline file; its default export is pipeline({ ... }).",
} as const;

const flags: Flags = {
  ...settingFlags("run"),
  json: toggle("Print JSON lines."),
};

export const run = command({
  name: "run",
  summary: "Run a pipeline on AWS, or on a compatible endpoint.",
  argument: PIPELINE_FILE,
  flags,
  async run({ argument: file = "", flags, out }) {
    const stopped = stopSignal();
    // Loaded here to keep help and usage errors fast.
    const { loadPipeline } = await import("../../run/open/load-pipeline.ts");
    const pipeline = await loadPipeline(file);
    const { startPipeline } = await import("../../run/start-pipeline.ts");
    const reporter = createReporter(out, flags.json ? "json" : out.terminal ? "live" : "plain");
    const { onLogLine } = reporter;
    const onError = (error: unknown) => reporter.event("trouble", describeFailure(error));
    const stopping = new AbortController();
    const { signal } = stopping;
    void stopped.then(() => stopping.abort());
    const options = { onError, signal, ...(onLogLine !== undefined && { onLogLine }) };
    let running: RunningPipeline | null = null;
    try {
      running = await startPipeline(pipeline, settingsFrom("run", flags), options);
      const { name, queueName: queue, metricsOrigin: metrics, findings } = running;
      const text = `tidegate runs ${name} on the queue ${queue} (metrics at ${metrics}/metrics)`;
      reporter.ready(text, { pipeline: name, queue, metrics, pid: process.pid });
      for (const finding of findings) reporter.event("finding", finding);
      reporter.watch(running, queue);
      await runUntilStopped(running, reporter, stopped, running.settings.drainMs);
    } catch (error) {
      if (running === null && error === signal.reason) return EXIT_OK; // Stopped while waiting.
      throw error;
    } finally {
      await running?.stop();
      reporter.close();
    }
    return EXIT_OK;
  },
});
