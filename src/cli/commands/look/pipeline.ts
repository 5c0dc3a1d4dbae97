// tidegate pipeline: pause and resume a pipeline, and show what it is doing.
//   P1. A name has to be one that the ledger knows: a pause under a misspelt name would stop
//       nothing. A pipeline that never ran is named by its file.
//   P2. Pausing a paused pipeline, and resuming one that runs, change nothing and succeed.

import { hostname, userInfo } from "node:os";
import { TidegateError } from "../../../core/errors.ts";
import type { LedgerScope } from "../../../ports/record.ts";
import { command, EXIT_OK, type ExitCode, text, toggle } from "../../command.ts";
import type { DeadLetterSession } from "../../sessions/dead-letter-session.ts";
import { generationFlag, ledgerLocation } from "../../words/location-flags.ts";

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

async function load() {
  const [session, words, control, pause, { systemPorts }] = await Promise.all([
    import("../../sessions/dead-letter-session.ts"),
    import("../../reports/pipeline-text.ts"),
    import("../../../run/control/pipeline-control.ts"),
    import("../../../ingest/running/pause.ts"),
    import("../../../platform/index.ts"),
  ]);
  return { ...session, words, ...control, ...pause, clock: systemPorts.clock };
}

async function withSession(
  named: string | undefined,
  flags: Location,
  work: (session: DeadLetterSession, parts: Awaited<ReturnType<typeof load>>) => Promise<ExitCode>,
): Promise<ExitCode> {
  const parts = await load();
  const session = await parts.openDeadLetterSession({ ...flags, pipeline: named });
  try {
    return await work(session, parts);
  } finally {
    await session.close();
  }
}

const PIPELINE_FILE = /\.m?[jt]s$/;

/** The scope that is meant; a name that the ledger does not know is rejected (P1). */
async function knownScope(session: DeadLetterSession, named: string | undefined) {
  const scope = session.onlyScope();
  if (named === undefined || PIPELINE_FILE.test(named)) return scope;
  const { runs } = await session.ledger.listRuns(scope, { after: null, limit: 1 });
  if (runs.length > 0) return scope;
  const scopes: readonly LedgerScope[] = await session.ledger.stats();
  if (scopes.some((each) => same(each, scope))) return scope;
  const names = [...new Set(scopes.map(({ pipeline }) => pipeline))].join(", ");
  const others = names === "" ? "it has none yet" : `it has ${names}`;
  throw new TidegateError(
    "TG_CONFIG_INVALID",
    `unknown pipeline "${scope.pipeline}" in generation ${scope.generation} of the ledger; ` +
      `${others}. Name a pipeline that never ran by its file`,
  );
}

function same(one: LedgerScope, two: LedgerScope): boolean {
  return one.pipeline === two.pipeline && one.generation === two.generation;
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
  run: ({ argument: named, flags, out }) =>
    withSession(named, flags, async (session, { words, setPause, readPipelineStatus, clock }) => {
      const { ledger } = session;
      const scope = await knownScope(session, named);
      const { reason = "" } = flags;
      const since = clock.now();
      const paused = await setPause(ledger, scope, { since, by: operatorName(), reason });
      const status = await readPipelineStatus({ clock, ledger }, scope);
      const isNew = paused.since === since;
      out.line(flags.json ? words.statusJson(status) : words.pausedLine(status, isNew)); // P2
      return EXIT_OK;
    }),
});

export const pipelineResume = command({
  name: "pipeline resume",
  summary: "Resume a paused pipeline; its processes receive again within seconds.",
  argument,
  flags: { ...location, json },
  run: ({ argument: named, flags, out }) =>
    withSession(named, flags, async (session, { words, endPause, readPipelineStatus, clock }) => {
      const { ledger } = session;
      const scope = await knownScope(session, named);
      const ended = await endPause(ledger, scope);
      const status = await readPipelineStatus({ clock, ledger }, scope);
      const line = words.resumedLine(status, ended, clock.now());
      out.line(flags.json ? words.statusJson(status) : line); // P2
      return EXIT_OK;
    }),
});

export const pipelineStatus = command({
  name: "pipeline status",
  summary: "Show whether pipelines are paused, how many processes run them, and their records.",
  argument: { ...argument, doc: "Pipeline file or name (default: all of the ledger)." },
  flags: { ...location, json },
  run: ({ argument: named, flags, out }) =>
    withSession(named, flags, async (session, { words, readPipelineStatus, clock }) => {
      const { ledger } = session;
      const stats = await ledger.stats();
      for (const scope of session.scopes) {
        const status = await readPipelineStatus({ clock, ledger }, scope);
        const records = stats.find((each) => same(each, scope)) ?? null;
        if (flags.json) out.line(words.statusJson(status, records));
        else for (const line of words.statusLines(status, records)) out.line(line);
      }
      if (session.scopes.length === 0) out.note("The ledger has no pipelines yet.");
      return EXIT_OK;
    }),
});
