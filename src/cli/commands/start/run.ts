// tidegate run: runs pipelines on AWS, or on a compatible endpoint.
//   R1. Several pipelines share the process, the ledger's URL and the settings. Each has its own
//       queue and its own /metrics: the first on --metrics-port, the others on the ports after it.

import { boundHeap } from "../../../platform/bound-heap.ts";
import type { RunSettings } from "../../../run/config.ts";
import type { Pipeline } from "../../../run/open/load-pipeline.ts";
import { openExport } from "../../../run/open/open-export.ts";
import type { RunningPipeline, StartOptions } from "../../../run/run-pipeline.ts";
import { command, EXIT_OK, type ExitCode, type Flags, toggle, UsageError } from "../../command.ts";
import { settingFlags, settingsFrom } from "../../flags/setting-flags.ts";
import { exitCodeAfter, runUntilStopped } from "../../run-until-stopped.ts";
import { describeFailure } from "../../screen/output.ts";
import { createReporter, type PipelineReporter } from "../../screen/pipeline-reporter.ts";
import { stopSignal } from "../../stop-signals.ts";

export const PIPELINE_FILE = {
  name: "FILE",
  doc: "Pipeline file; its default export is pipeline({ ... }).",
} as const;

const PIPELINE_FILES = {
  name: "FILE...",
  doc: "Pipeline files; the default export of each is pipeline({ ... }).",
  repeats: true,
} as const;

const flags: Flags = {
  ...settingFlags("run"),
  json: toggle("Print JSON lines."),
};

export const run = command({
  name: "run",
  summary: "Run pipelines on AWS, or on a compatible endpoint.",
  argument: PIPELINE_FILES,
  flags,
  async run({ arguments: files, flags, out }) {
    const stopped = stopSignal();
    boundHeap();
    const settings = settingsFrom("run", flags);
    const pipelines = await loadAll(files, settings);
    const { combineRunning } = await import("../../../run/combine-running.ts");
    const reporter = createReporter(out, flags.json ? "json" : out.terminal ? "live" : "plain");
    const { onLogLine } = reporter;
    const onError = (error: unknown) => reporter.event("trouble", describeFailure(error));
    const stopping = new AbortController();
    const { signal } = stopping;
    void stopped.then(() => stopping.abort());
    const otlp = await openExport((text) => reporter.event("finding", text));
    const options = { onError, otlp, signal, ...(onLogLine !== undefined && { onLogLine }) };
    const running: RunningPipeline[] = [];
    let code: ExitCode = EXIT_OK;
    try {
      for (const [at, pipeline] of pipelines.entries()) {
        const file = files[at] ?? "";
        running.push(await start(pipeline, settingsAt(settings, at), { ...options, file }));
        announce(reporter, running.at(-1));
      }
      const all = combineRunning(running);
      reporter.watch(all, running.map(({ queueName }) => queueName).join(", "));
      const { drainMs = 0 } = running[0]?.settings ?? {};
      code = exitCodeAfter(await runUntilStopped(all, reporter, stopped, drainMs), out);
    } catch (error) {
      const starting = running.length < pipelines.length;
      if (starting && error === signal.reason) return EXIT_OK; // Stopped while waiting.
      throw error;
    } finally {
      await Promise.all(running.map((each) => each.stop()));
      await otlp?.close();
      reporter.close();
    }
    return code;
  },
});

/** Loaded here to keep help and usage errors fast. */
async function loadAll(files: readonly string[], settings: RunSettings): Promise<Pipeline[]> {
  const { loadPipeline } = await import("../../../run/open/load-pipeline.ts");
  if (files.length > 1 && (settings.queue ?? settings.deadLetterQueue) !== undefined) {
    throw new UsageError(
      "--queue and --dead-letter-queue are for one pipeline; set source.queue in each file",
    );
  }
  const pipelines: Pipeline[] = [];
  for (const file of files) {
    const pipeline = await loadPipeline(file);
    const { name, generation } = pipeline;
    const isTwin = (each: Pipeline) => each.name === name && each.generation === generation;
    if (pipelines.some(isTwin)) {
      throw new UsageError(`two files define the pipeline "${name}"; give each its own name`);
    }
    pipelines.push(pipeline);
  }
  return pipelines;
}

/** R1 */
function settingsAt(settings: RunSettings, at: number): RunSettings {
  const { metricsPort } = settings;
  if (metricsPort === undefined || metricsPort === 0) return settings;
  return { ...settings, metricsPort: metricsPort + at };
}

async function start(pipeline: Pipeline, settings: RunSettings, options: StartOptions) {
  const { startPipeline } = await import("../../../run/start-pipeline.ts");
  return startPipeline(pipeline, settings, options);
}

function announce(reporter: PipelineReporter, running: RunningPipeline | undefined): void {
  if (running === undefined) return;
  const { name, queueName: queue, metricsOrigin: metrics, findings } = running;
  const text = `tidegate runs ${name} on the queue ${queue} (metrics at ${metrics}/metrics)`;
  reporter.ready(text, { pipeline: name, queue, metrics, pid: process.pid });
  for (const finding of findings) reporter.event("finding", finding);
}
