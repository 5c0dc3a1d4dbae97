// tidegate replay: runs past records again, compares the result with the live tables, promotes it.
//   R1. --dry-run, list, show and diff change nothing.
//   R2. The exit code is 1 if a replay did not run to its end, or if records failed.
//   R3. A replay into the live tables waits while the pipeline is paused, and says so.

import type { ReplaySelection } from "../../../operate/replays/replays.ts";
import { SETTINGS } from "../../../run/config.ts";
import {
  command,
  EXIT_FAILED,
  EXIT_OK,
  type FlagValues,
  oneOf,
  text,
  toggle,
  UsageError,
  wholeNumber,
} from "../../command.ts";
import { ledgerLocation, sourceOptions } from "../../flags/location-flags.ts";
import { createLiveScreen } from "../../screen/live-screen.ts";
import type { Output } from "../../screen/output.ts";
import { interruption } from "../../stop-signals.ts";
import { instantFlag } from "../look/records.ts";
import { PIPELINE_FILE } from "../start/run.ts";

const CONCURRENCY_MAX = 10_000;
const SAMPLES_MAX = 10_000;
const SAMPLES_DEFAULT = 10;
const BUCKET_URL = /^s3:\/\/([^/]+)\/?(.*)$/s;
const TARGETS = ["shadow", "live"] as const;

export const replayLocation = {
  ...ledgerLocation,
  endpoint: {
    ...text(
      "URL",
      null,
      "S3 endpoint (default: AWS_ENDPOINT_URL, else the cloud running on --data, else AWS; " +
        "another ledger disables the search for a running cloud).",
    ),
    env: SETTINGS.endpoint.env,
  },
  region: { ...text("REGION", null, SETTINGS.region.doc), env: SETTINGS.region.env },
  "tables-database": {
    ...text("DATABASE", null, SETTINGS.tablesDatabase.doc),
    env: SETTINGS.tablesDatabase.env,
  },
};
const json = toggle("Print JSON lines.");
const ofRun = {
  pipeline: text("FILE", null, "Pipeline file (default: the file that the run recorded)."),
  ...replayLocation,
  json,
};
const RUN = { name: "RUN", doc: "The id of a replay (see replay list)." } as const;

/** Loaded here to keep other commands fast. */
async function load(flags: Parameters<typeof sourceOptions>[0]) {
  const [{ Sources }, { replaysOf }, words, { waitLine }] = await Promise.all([
    import("../../../operate/sources.ts"),
    import("../../../operate/replays/replays.ts"),
    import("../../print/replay-text.ts"),
    import("../../print/pipeline-text.ts"),
  ]);
  const sources = new Sources(sourceOptions(flags));
  return { sources, replays: replaysOf(sources), words: { ...words, waitLine } };
}

type Loaded = Awaited<ReturnType<typeof load>>;

export const replay = command({
  name: "replay",
  summary: "Run the records of an event-time window again, into a shadow of the tables.",
  argument: PIPELINE_FILE,
  flags: {
    from: instantFlag("First event time: 2026-11-17T08:00:00Z or 2026-11-17; required."),
    to: instantFlag("End of the window, exclusive; required."),
    prefix: text(
      "PREFIX",
      null,
      "Only objects that start with it: s3://bucket/prefix, or a prefix in the pipeline's bucket.",
    ),
    into: oneOf(TARGETS, "shadow", "Where to write: shadow tables, or the live tables."),
    resume: text("RUN", null, "Continue this run, instead of --from and --to."),
    "skip-gone": toggle(
      "Replay the other records if object versions or messages are gone or cannot be read.",
    ),
    concurrency: wholeNumber(
      "NUMBER",
      { min: 1, max: CONCURRENCY_MAX },
      null,
      "Records at the same time (default: from the pipeline file).",
    ),
    "manifest-dir": text(
      "FOLDER|URL",
      null,
      "Folder or s3://bucket/prefix for the manifest of the run: RUN/run_manifest.json.",
    ),
    "dry-run": toggle("Print the plan, and change nothing."),
    ...replayLocation,
    json,
  },
  async run({ argument: file = "", flags, out }) {
    const { sources, replays, words } = await load({ ...flags, pipeline: file });
    await using _ = sources;
    const signal = interruption();
    const pipeline = await sources.pipeline();
    const bucket = pipeline?.source.bucket ?? null;
    if (flags["dry-run"]) {
      const plan = await replays.plan(selectionOf(flags, bucket), signal);
      for (const line of flags.json ? [words.planJson(plan)] : words.planLines(plan)) {
        out.line(line);
      }
      return plan.gone.length > 0 ? EXIT_FAILED : EXIT_OK;
    }
    const { concurrency, resume, "skip-gone": skipGone, "manifest-dir": folder } = flags;
    const options = { signal, concurrency, skipGone };
    const screen = out.terminal && !flags.json ? createLiveScreen(process.stdout) : null;
    try {
      const run =
        resume === undefined
          ? replays.start(selectionOf(flags, bucket), options)
          : replays.resume(resume, options);
      for await (const step of run) {
        if (step.kind === "progress") screen?.show([words.progressText(step)]);
        else out.note(words.waitLine(pipeline?.name ?? "", step.pause)); // R3
      }
      const status = await run.result();
      screen?.close();
      if (folder !== undefined) {
        out.note(`wrote ${await replays.writeManifest(status.entry.run, folder)}`);
      }
      for (const line of flags.json
        ? [words.replayStatusJson(status)]
        : words.replayStatusLines(status)) {
        out.line(line);
      }
      return /^(ready|promoted|complete)$/.test(status.state) ? EXIT_OK : EXIT_FAILED; // R2
    } finally {
      screen?.close();
    }
  },
});

function selectionOf(
  flags: {
    readonly from: number | undefined;
    readonly to: number | undefined;
    readonly prefix: string | undefined;
    readonly into: (typeof TARGETS)[number] | undefined;
  },
  bucket: string | null,
): ReplaySelection {
  const { from, to, prefix, into = "shadow" } = flags;
  if (from === undefined || to === undefined) {
    throw new UsageError("replay needs a window: --from TIME --to TIME");
  }
  const [, named, rest] = BUCKET_URL.exec(prefix ?? "") ?? [];
  const of = named ?? bucket;
  if (prefix !== undefined && of === null) {
    throw new UsageError("--prefix needs a bucket: s3://bucket/prefix");
  }
  const objects =
    prefix === undefined ? { bucket: null, prefix: null } : { bucket: of, prefix: rest ?? prefix };
  return { from, to, ...objects, into };
}

/** Runs a command on the replays that its flags name. */
async function onReplays(
  flags: FlagValues<typeof ofRun>,
  work: (loaded: Loaded) => Promise<void>,
): Promise<typeof EXIT_OK> {
  const loaded = await load(flags);
  await using _ = loaded.sources;
  await work(loaded);
  return EXIT_OK;
}

function printAll(out: Output, lines: readonly string[]): void {
  for (const line of lines) out.line(line);
}

export const replayList = command({
  name: "replay list",
  summary: "List the replays of a ledger with their states, newest first.",
  flags: ofRun,
  run: ({ flags, out }) =>
    onReplays(flags, async ({ replays, words }) => {
      const all = await replays.list();
      printAll(out, all.map(flags.json ? words.replayStatusJson : words.statusLine));
      if (all.length === 0) out.note("The ledger has no replays.");
    }),
});

export const replayShow = command({
  name: "replay show",
  summary: "Show a replay: its window, state, counts, failures and shadow tables.",
  argument: RUN,
  flags: ofRun,
  run: ({ argument: run = "", flags, out }) =>
    onReplays(flags, async ({ replays, words }) => {
      const status = await replays.show(run);
      printAll(
        out,
        flags.json ? [words.replayStatusJson(status)] : words.replayStatusLines(status),
      );
    }),
});

export const replayDiff = command({
  name: "replay diff",
  summary: "Show what promoting a replay would change: rows added, removed and changed.",
  argument: RUN,
  flags: {
    ...ofRun,
    samples: wholeNumber(
      "NUMBER",
      { min: 0, max: SAMPLES_MAX },
      String(SAMPLES_DEFAULT),
      "Rows to show per table at most.",
    ),
  },
  run: ({ argument: run = "", flags, out }) =>
    onReplays(flags, async ({ replays, words }) => {
      for (const difference of await replays.diff(run, flags.samples ?? SAMPLES_DEFAULT)) {
        const lines = flags.json ? [JSON.stringify(difference)] : words.differenceLines(difference);
        printAll(out, lines);
      }
    }),
});

export const replayPromote = command({
  name: "replay promote",
  summary: "Replace the live rows of the replayed records by the replay's, in one transaction.",
  argument: RUN,
  flags: ofRun,
  run: ({ argument: run = "", flags, out }) =>
    onReplays(flags, async ({ replays }) => {
      const { appliedObjects, keptObjects, messages } = await replays.promote(run);
      if (flags.json) out.line(JSON.stringify({ run, appliedObjects, keptObjects, messages }));
      else {
        const objects = `${appliedObjects} objects replaced, ${keptObjects} kept`;
        out.line(`promoted ${run}: ${messages > 0 ? `${messages} messages applied` : objects}`);
      }
    }),
});

export const replayDrop = command({
  name: "replay drop",
  summary: "Remove the shadow tables of a replay, and forget the run.",
  argument: RUN,
  flags: ofRun,
  run: ({ argument: run = "", flags, out }) =>
    onReplays(flags, async ({ replays }) => {
      await replays.drop(run);
      out.line(flags.json ? JSON.stringify({ run, dropped: true }) : `dropped ${run}`);
    }),
});

export const replayCancel = command({
  name: "replay cancel",
  summary: "Stop a running replay after its current records; it can be continued.",
  argument: RUN,
  flags: ofRun,
  run: ({ argument: run = "", flags, out }) =>
    onReplays(flags, async ({ replays }) => {
      await replays.cancel(run);
      out.line(flags.json ? JSON.stringify({ run, cancelled: true }) : `cancelling ${run}`);
    }),
});
