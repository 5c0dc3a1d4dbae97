// tidegate backfill: takes what is in the bucket through a pipeline.
//   B1. The exit code is 1 if an object was not done; the same command continues.
//   B2. While the pipeline is paused, it waits and says so.

import { command, EXIT_FAILED, EXIT_OK, toggle, wholeNumber } from "../../command.ts";
import { bucketFlags } from "../../flags/bucket-flags.ts";
import { sourceOptions } from "../../flags/location-flags.ts";
import { timeFlag } from "../../flags/time-flag.ts";
import { stopSignal } from "../../stop-signals.ts";

const RATE_MAX = 1_000_000;

export const backfillCommand = command({
  name: "backfill",
  summary: "Ingest what is in the bucket and was never ingested, beside the running pipeline.",
  argument: { name: "FILE", doc: "Pipeline file; its default export is pipeline({ ... })." },
  flags: {
    since: timeFlag("Only objects last modified at this time or later."),
    until: timeFlag("Only objects last modified before this time (default: now)."),
    rate: wholeNumber(
      "NUMBER",
      { min: 1, max: RATE_MAX },
      null,
      "Objects per second at most (default: as fast as the pipeline).",
    ),
    versions: toggle("All versions of each object, the oldest first (default: the current one)."),
    "dry-run": toggle("Count what would be ingested, and change nothing."),
    json: toggle("Print JSON lines."),
    ...bucketFlags,
  },
  async run({ argument: file = "", flags, out }) {
    const [{ Sources }, { backfillOf }, words, { waitJson, waitLine }] = await Promise.all([
      import("../../../operate/sources.ts"),
      import("../../../operate/backfill.ts"),
      import("../../print/backfill-text.ts"),
      import("../../print/pipeline-text.ts"),
    ]);
    await using sources = new Sources(sourceOptions({ ...flags, pipeline: file }));
    const stopping = new AbortController();
    void stopSignal().then(() => stopping.abort(new Error("stopped")));
    const { since, until, bucket, prefix, rate, versions } = flags;
    const dryRun = flags["dry-run"] ?? false;
    const { pipeline } = await sources.scope();
    const window = { since, until, bucket, prefix, versions };
    const run = backfillOf(sources)({ ...window, rate, dryRun, signal: stopping.signal });
    try {
      for await (const step of run) {
        if (step.kind === "waiting") {
          if (flags.json) out.line(waitJson(step.pause));
          else out.note(waitLine(pipeline, step.pause)); // B2
        } else {
          const { kind: event, ...progress } = step;
          if (flags.json) out.line(JSON.stringify({ event, ...progress }));
          else out.note(words.progressLine(progress));
        }
      }
      const result = await run.result();
      if (flags.json) out.line(JSON.stringify({ event: "summary", dryRun, ...result }));
      else for (const line of words.backfillSummary(result, dryRun)) out.line(line);
      return result.unfinished === 0 ? EXIT_OK : EXIT_FAILED; // B1
    } catch (error) {
      if (!stopping.signal.aborted) throw error;
      out.note("Stopped; the same command continues where this one ended.");
      return EXIT_FAILED;
    }
  },
});
