// tidegate pipeline: pause and resume a pipeline, and show what it is doing.
//   P1. Pausing a paused pipeline, and resuming one that runs, change nothing and succeed.

import { hostname, userInfo } from "node:os";
import { command, EXIT_OK, text, toggle } from "../../command.ts";
import { generationFlag, ledgerLocation, sourceOptions } from "../../flags/location-flags.ts";

const argument = {
  name: "FILE|NAME",
  doc: "Pipeline file or name; required if the ledger has several pipelines.",
  optional: true,
} as const;

const location = {
  generation: generationFlag(
    "Only this generation (default: from the pipeline file, 0 of a named pipeline, otherwise all).",
  ),
  ...ledgerLocation,
};

interface Location {
  readonly generation: number | undefined;
  readonly ledger: string | undefined;
  readonly data: string | undefined;
}

const json = toggle("Print JSON lines.");

async function load(named: string | undefined, flags: Location) {
  const [{ Sources }, { pipelineControlOf }, words] = await Promise.all([
    import("../../../operate/sources.ts"),
    import("../../../operate/pause.ts"),
    import("../../print/pipeline-text.ts"),
  ]);
  const sources = new Sources(sourceOptions({ ...flags, pipeline: named }));
  return { sources, control: pipelineControlOf(sources), words };
}

/** Who gives the order, for the ledger and the log. */
function operatorName(): string {
  try {
    return `${userInfo().username}@${hostname()}`;
  } catch {
    return hostname();
  }
}

export const pipelinePause = command({
  name: "pipeline pause",
  summary: "Pause a pipeline: its processes receive nothing until it is resumed.",
  argument,
  flags: {
    reason: text("TEXT", null, "Why, for the log, the status and other operators."),
    ...location,
    json,
  },
  async run({ argument: named, flags, out }) {
    const { sources, control, words } = await load(named, flags);
    await using _ = sources;
    const { status, isNew } = await control.pause({ by: operatorName(), reason: flags.reason });
    out.line(flags.json ? words.statusJson(status) : words.pausedLine(status, isNew)); // P1
    return EXIT_OK;
  },
});

export const pipelineResume = command({
  name: "pipeline resume",
  summary: "Resume a paused pipeline; its processes receive again within seconds.",
  argument,
  flags: { ...location, json },
  async run({ argument: named, flags, out }) {
    const { sources, control, words } = await load(named, flags);
    await using _ = sources;
    const { status, ended } = await control.resume();
    const line = words.resumedLine(status, ended, sources.clock.now());
    out.line(flags.json ? words.statusJson(status) : line); // P1
    return EXIT_OK;
  },
});

export const pipelineStatus = command({
  name: "pipeline status",
  summary: "Show whether pipelines are paused, how many processes run them, and their records.",
  argument: { ...argument, doc: "Pipeline file or name (default: all of the ledger)." },
  flags: { ...location, json },
  async run({ argument: named, flags, out }) {
    const { sources, control, words } = await load(named, flags);
    await using _ = sources;
    const all = await control.status();
    for (const status of all) {
      if (flags.json) out.line(words.statusJson(status, status.records));
      else for (const line of words.statusLines(status, status.records)) out.line(line);
    }
    if (all.length === 0) out.note("The ledger has no pipelines yet.");
    return EXIT_OK;
  },
});
