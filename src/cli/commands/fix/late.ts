// tidegate late: held records, which were too late for their pipeline.
//   L1. A release names what it releases: --key, --prefix or --all. Without one it does nothing.
//   L2. The exit code is 1 if a record that should have been released was not.

import { SETTINGS } from "../../../run/config.ts";
import { command, EXIT_FAILED, EXIT_OK, text, toggle, UsageError } from "../../command.ts";
import {
  ledgerLocation,
  pipelineLocation,
  serverLocation,
  sourceOptions,
} from "../../flags/location-flags.ts";

const location = {
  ...pipelineLocation,
  ...ledgerLocation,
};

const which = {
  prefix: text("TEXT", null, "Only s3://bucket/key, or business keys, that start with this text."),
  key: text("KEY", null, "Only this record, event or business key, or this s3://bucket/key."),
};

const json = toggle("Print JSON lines.");

async function load(flags: Parameters<typeof sourceOptions>[0]) {
  const [{ Sources }, { lateRecordsOf }, words] = await Promise.all([
    import("../../../operate/sources.ts"),
    import("../../../operate/late.ts"),
    import("../../print/late-text.ts"),
  ]);
  const sources = new Sources(sourceOptions(flags));
  return { sources, late: lateRecordsOf(sources), words };
}

export const lateList = command({
  name: "late list",
  summary: "List the records that were too late: held in the ledger, or sent to the late queue.",
  flags: { ...location, ...which, json },
  async run({ flags, out }) {
    const { sources, late, words } = await load(flags);
    await using _ = sources;
    let listed = 0;
    for await (const record of late.list(flags)) {
      out.line(flags.json ? words.heldJson(record) : words.heldLine(record));
      listed += 1;
    }
    if (listed === 0) out.note("No held records match.");
    return EXIT_OK;
  },
});

export const lateRelease = command({
  name: "late release",
  summary: "Send held records back to their queue; they are then processed in their recorded lane.",
  flags: {
    ...location,
    ...which,
    all: toggle("All held records of the pipeline."),
    "dry-run": toggle("Print what would be released, and change nothing."),
    ...serverLocation,
    queue: {
      ...text("QUEUE", null, "Queue of the pipeline (default: the queue that held records name)."),
      env: SETTINGS.queue.env,
    },
    json,
  },
  async run({ flags, out }) {
    if (!flags.all && flags.key === undefined && flags.prefix === undefined) {
      throw new UsageError("late release needs --key, --prefix or --all"); // L1
    }
    const { sources, late, words } = await load(flags);
    await using _ = sources;
    const dryRun = flags["dry-run"] ?? false;
    const run = late.release(flags, { dryRun });
    for await (const event of run) {
      out.line(flags.json ? words.releaseJson(event) : words.releaseLine(event));
    }
    const counts = await run.result();
    if (flags.json) out.line(JSON.stringify({ event: "summary", ...counts }));
    else out.line(words.releaseSummary(counts, dryRun));
    return counts.refused === 0 ? EXIT_OK : EXIT_FAILED; // L2
  },
});
