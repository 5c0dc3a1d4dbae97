// tidegate dev: an embedded cloud and a pipeline on it, in one process, for development.

import { existsSync, readdirSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import type { CloudOptions } from "../../../cloud/cloud-options.ts";
import type { ConsoleAccess } from "../../../console/serve-console.ts";
import { systemClock } from "../../../platform/system-clock.ts";
import type { Feed } from "../../../run/dev/feed.ts";
import type { RunningDev } from "../../../run/dev/start-dev.ts";
import { openExport } from "../../../run/open/open-export.ts";
import {
  command,
  EXIT_OK,
  type ExitCode,
  type Flags,
  text,
  toggle,
  UsageError,
} from "../../command.ts";
import { readJsonFile } from "../../flags/json-file.ts";
import { settingFlags, settingsFrom } from "../../flags/setting-flags.ts";
import { exitCodeAfter, runUntilStopped } from "../../run-until-stopped.ts";
import { describeFailure } from "../../screen/output.ts";
import { createReporter, type PipelineReporter } from "../../screen/pipeline-reporter.ts";
import { type TryOptions, whatToTry } from "../../screen/what-to-try.ts";
import { stopSignal } from "../../stop-signals.ts";
import { consoleFlags } from "./console.ts";
import { PIPELINE_FILE } from "./run.ts";

const flags: Flags = {
  ...settingFlags("dev"),
  "watch-folder": text(
    "FOLDER",
    null,
    "Folder whose files are put into the bucket, then moved to done/.",
  ),
  feed: text("FILE", null, "Module whose default export yields files to put."),
  faults: text("FILE", null, "Faults that the embedded cloud starts with."),
  ...consoleFlags,
  json: toggle("Print JSON lines."),
};

export const dev = command({
  name: "dev",
  summary: "Run a pipeline and an embedded cloud for it, in one process.",
  argument: PIPELINE_FILE,
  flags,
  async run({ argument: file = "", flags, out }) {
    const stopped = stopSignal();
    // Loaded here to keep help and usage errors fast.
    const { loadPipeline } = await import("../../../run/open/load-pipeline.ts");
    const pipeline = await loadPipeline(file);
    const folder: string | undefined = flags["watch-folder"];
    checkBucket(pipeline.source.bucket, { "watch-folder": folder, feed: flags.feed });
    const faults = faultsOf(flags.faults);
    const [{ startDev }, { consoleOf }, { loadFeed }] = await Promise.all([
      import("../../../run/dev/start-dev.ts"),
      import("../../../console/mount-console.ts"),
      import("../../../run/dev/feed.ts"),
    ]);
    const feed = flags.feed === undefined ? null : await loadFeed(flags.feed);
    const reporter = createReporter(out, flags.json ? "json" : out.terminal ? "live" : "plain");
    const { onLogLine } = reporter;
    const onError = (error: unknown) => reporter.event("trouble", describeFailure(error));
    const otlp = await openExport((text) => reporter.event("finding", text));
    const console = consoleOf(consoleAccessOf(flags));
    const watched = { console, otlp, ...(onLogLine && { onLogLine }) };
    const options = { onError, faults, file, ...watched };
    let running: RunningDev | null = null;
    let code: ExitCode = EXIT_OK;
    try {
      running = await startDev(pipeline, settingsFrom("dev", flags), options);
      const { prefix, own } = pipeline.source;
      // Before the ready line, so that its readers find the watched folder.
      const sources = await startSources(running, reporter, { prefix, folder, feed });
      const { data, drainMs } = running.settings;
      const sample = sampleBeside(file);
      printReady(running, reporter, { data, folder, prefix, own, sample });
      reporter.watch(running, sourceOf(running, prefix));
      const stopping = stopped.finally(sources.close);
      code = exitCodeAfter(await runUntilStopped(running, reporter, stopping, drainMs), out);
    } finally {
      await running?.stop();
      await otlp?.close();
      reporter.close();
    }
    return code;
  },
});

function consoleAccessOf(flags: Readonly<Record<string, unknown>>): ConsoleAccess {
  return {
    allowActions: flags["allow-actions"] === true,
    token: flags["console-token"] as string | undefined,
    traceUrl: flags["trace-url"] as string | undefined,
  };
}

function checkBucket(bucket: string | null, given: Readonly<Record<string, unknown>>): void {
  if (bucket !== null) return;
  for (const [flag, value] of Object.entries(given)) {
    if (value === undefined) continue;
    throw new UsageError(`--${flag} needs a pipeline with a bucket`);
  }
}

function faultsOf(file: string | undefined): NonNullable<CloudOptions["faults"]> {
  const value = file === undefined ? [] : readJsonFile(file, "faults");
  return (Array.isArray(value) ? value : [value]) as unknown as NonNullable<CloudOptions["faults"]>;
}

function sourceOf({ names, queueName }: RunningDev, prefix: string): string {
  return names.bucket === null ? queueName : `s3://${names.bucket}/${prefix}`;
}

function printReady(
  running: RunningDev,
  reporter: PipelineReporter,
  at: Pick<TryOptions, "data" | "folder" | "prefix" | "own" | "sample">,
): void {
  const { data, folder } = at;
  const { name, endpoint, names, metricsOrigin: metrics, findings } = running;
  const text = `tidegate dev is ready at ${endpoint} (pipeline ${name}, data in ${data})`;
  const { console } = running;
  const facts = { pipeline: name, endpoint, console, ...names, metrics, data, pid: process.pid };
  reporter.ready(text, { ...facts, watchFolder: folder ?? null });
  for (const finding of findings) reporter.event("finding", finding);
  const region = running.settings.region ?? "us-east-1";
  reporter.hint(whatToTry(running, { ...at, pipeline: name, region, now: systemClock.now() }));
}

/** The first file in the folder samples beside the pipeline file, from the current folder. */
function sampleBeside(file: string): string | null {
  const samples = join(dirname(file), "samples");
  if (!existsSync(samples)) return null;
  const entries = readdirSync(samples, { withFileTypes: true }).filter((entry) => entry.isFile());
  const [first] = entries.map(({ name }) => name).toSorted();
  return first === undefined ? null : join(samples, first);
}

/** Starts the watched folder and the feed. */
async function startSources(
  running: RunningDev,
  reporter: PipelineReporter,
  from: {
    readonly prefix: string;
    readonly folder: string | undefined;
    readonly feed: Feed | null;
  },
) {
  const [{ createInbox }, { runFeed }] = await Promise.all([
    import("../../../run/dev/inbox.ts"),
    import("../../../run/dev/feed.ts"),
  ]);
  const ports = { clock: systemClock };
  const stopping = new AbortController();
  const report = (source: string) => (error: unknown) =>
    reporter.event("trouble", `${source}: ${describeFailure(error)}`);
  const inbox =
    from.folder === undefined
      ? null
      : createInbox(ports, {
          folder: resolve(from.folder),
          put: (name, path) => running.putFile(`${from.prefix}${name}`, path),
          onFailure: (name, error) => report(name)(error),
        });
  inbox?.start();
  const { put } = running;
  const { signal } = stopping;
  const fed = from.feed && runFeed(ports, from.feed, { put, signal }).catch(report("feed"));
  return {
    async close() {
      stopping.abort();
      await Promise.all([inbox?.close(), fed]);
    },
  };
}
