// tidegate dlq: lists, shows, redrives and drops dead letters.
//   Q1. list, show and --dry-run change nothing; drop requires --yes.
//   Q2. The exit code is 1 if a redrive stopped by itself, or if an item failed again, is missing
//       or was rejected.

import { type DurationMs, seconds } from "../../../core/units.ts";
import { REDRIVE_DEFAULTS } from "../../../operate/defaults.ts";
import { SETTINGS } from "../../../run/config.ts";
import {
  command,
  EXIT_FAILED,
  EXIT_OK,
  text,
  toggle,
  UsageError,
  wholeNumber,
} from "../../command.ts";
import { age } from "../../flags/age-flag.ts";
import {
  ledgerLocation,
  pipelineLocation,
  serverLocation,
  sourceOptions,
} from "../../flags/location-flags.ts";
import { createLiveScreen } from "../../screen/live-screen.ts";
import { interruption } from "../../stop-signals.ts";

const RATE_MAX = 1_000;
const LIMIT_MAX = REDRIVE_DEFAULTS.limit;
const FOLLOW_S_MAX = 86_400;
const PERCENT_MAX = 100;
const MS_PER_SECOND = 1_000;

/** Flags that name the ledger and the pipeline. */
export const locationFlags = {
  ...pipelineLocation,
  ...ledgerLocation,
};

/** Flags that name the queues. */
export const queueFlags = {
  ...serverLocation,
  queue: {
    ...text("QUEUE", null, "Source queue (default: the queue that the dossiers name)."),
    env: SETTINGS.queue.env,
  },
  "dead-letter-queue": {
    ...text("QUEUE", null, SETTINGS.deadLetterQueue.doc),
    env: SETTINGS.deadLetterQueue.env,
  },
};

const filter = {
  class: text("CLASS", null, "Only this error class; back-stop for messages that SQS moved."),
  fingerprint: text("TEXT", null, "Only fingerprints that start with this text."),
  key: text(
    "TEXT",
    null,
    "Only this record, event or business key, or any part of s3://bucket/key.",
  ),
  older: age("Only failures older than this: 30s, 15m, 2h, 7d."),
  newer: age("Only failures newer than this."),
};

const json = toggle("Print JSON lines.");
const limit = wholeNumber(
  "NUMBER",
  { min: 1, max: LIMIT_MAX },
  null,
  "Maximum number of dead letters.",
);
const dryRun = toggle("Print what would be done, and change nothing.");

interface FilterFlags {
  readonly class?: string | undefined;
  readonly fingerprint?: string | undefined;
  readonly key?: string | undefined;
  readonly older?: DurationMs | undefined;
  readonly newer?: DurationMs | undefined;
}

function selectionOf(flags: FilterFlags) {
  const { class: errorClass, fingerprint, key, older, newer } = flags;
  return { class: errorClass, fingerprint, key, olderThanMs: older, newerThanMs: newer };
}

/** Loaded here to keep other commands fast. */
async function load(flags: Parameters<typeof sourceOptions>[0]) {
  const [{ Sources }, { deadLettersOf }, words] = await Promise.all([
    import("../../../operate/sources.ts"),
    import("../../../operate/dead-letters.ts"),
    import("../../print/dead-letter-text.ts"),
  ]);
  const sources = new Sources(sourceOptions(flags));
  return { sources, deadLetters: deadLettersOf(sources), words };
}

/** The note of redrive and drop without dead letters and without a queue. */
function nothingIn({ pipeline }: { readonly pipeline: string }): string {
  return (
    `The ledger has no dead letter of ${pipeline}; nothing was changed. For messages that SQS moved, ` +
    "name the queue with --queue."
  );
}

const NO_MATCH = "No dead letters match.";

export const dlqList = command({
  name: "dlq list",
  summary: "List the dead letters in the ledger.",
  flags: {
    ...locationFlags,
    ...filter,
    limit,
    group: toggle("Count by fingerprint, most frequent first."),
    peek: toggle("Also read the dead-letter queue, which hides its messages for a while."),
    ...queueFlags,
    json,
  },
  async run({ flags, out }) {
    const { sources, deadLetters, words } = await load(flags);
    await using _ = sources;
    const selection = selectionOf(flags);
    if (flags.group) {
      const groups = await deadLetters.groups(selection, { peek: flags.peek });
      for (const group of groups.slice(0, flags.limit)) {
        const lines = flags.json ? [words.groupJson(group)] : words.groupLines(group);
        for (const line of lines) out.line(line);
      }
      if (groups.length === 0) out.note(NO_MATCH);
      return EXIT_OK;
    }
    const listed = await Array.fromAsync(deadLetters.list(selection, { peek: flags.peek }));
    for (const each of listed.slice(0, flags.limit)) {
      const lines = flags.json ? [words.deadLetterJson(each)] : words.deadLetterLines(each);
      for (const line of lines) out.line(line);
    }
    if (listed.length === 0) out.note(NO_MATCH);
    return EXIT_OK;
  },
});

export const dlqShow = command({
  name: "dlq show",
  summary: "Show the dossier (failure report) of a dead letter.",
  argument: { name: "KEY", doc: "Record or event key, or any part of s3://bucket/key." },
  flags: { ...locationFlags, json },
  async run({ argument: key = "", flags, out }) {
    const { sources, deadLetters, words } = await load(flags);
    await using _ = sources;
    let shown = 0;
    for await (const { dossier, state } of deadLetters.list({ key })) {
      if (dossier === null) continue;
      if (flags.json) out.line(JSON.stringify({ ...dossier, state }));
      else {
        if (shown > 0) out.line("");
        for (const line of words.dossierLines(dossier, state)) out.line(line);
      }
      shown += 1;
    }
    if (shown === 0) out.note(`No dead letter matches ${key}.`);
    return shown > 0 ? EXIT_OK : EXIT_FAILED;
  },
});

export const dlqRedrive = command({
  name: "dlq redrive",
  summary: "Send dead letters back to their queue and follow each to its outcome.",
  flags: {
    ...locationFlags,
    ...filter,
    limit,
    rate: wholeNumber(
      "NUMBER",
      { min: 1, max: RATE_MAX },
      String(REDRIVE_DEFAULTS.perSecond),
      "Maximum per second.",
    ),
    follow: wholeNumber(
      "S",
      { min: 0, max: FOLLOW_S_MAX },
      String(REDRIVE_DEFAULTS.followMs / MS_PER_SECOND),
      "Seconds to follow each dead letter.",
    ),
    "stop-after": wholeNumber(
      "NUMBER",
      { min: 1, max: LIMIT_MAX },
      String(REDRIVE_DEFAULTS.stop.failuresMin),
      "Repeated failures after which the run may stop by itself.",
    ),
    "stop-percent": wholeNumber(
      "PERCENT",
      { min: 0, max: PERCENT_MAX },
      String(REDRIVE_DEFAULTS.stop.failedShareMax * PERCENT_MAX),
      "Share of repeated failures above which it stops.",
    ),
    "dry-run": dryRun,
    ...queueFlags,
    json,
  },
  async run({ flags, out }) {
    const { sources, deadLetters, words } = await load(flags);
    await using _ = sources;
    const live = out.terminal && !flags.json && !flags["dry-run"];
    const screen = live ? createLiveScreen(process.stdout) : null;
    try {
      const scope = await sources.scope("dossier");
      const selection = selectionOf(flags);
      const all = await Array.fromAsync(deadLetters.list(selection));
      const listed = all.filter(({ generation }) => generation === scope.generation);
      if ((await sources.queues()) === null) {
        out.note(nothingIn(scope));
        return EXIT_OK;
      }
      const total = Math.min(listed.length, flags.limit ?? listed.length);
      const run = deadLetters.redrive(selection, {
        dryRun: flags["dry-run"],
        perSecond: flags.rate,
        limit: flags.limit,
        followMs: seconds(flags.follow ?? 0),
        stop: {
          failuresMin: flags["stop-after"] ?? 1,
          failedShareMax: (flags["stop-percent"] ?? 0) / PERCENT_MAX,
        },
        signal: interruption(),
      });
      const progress = words.createProgress(total);
      for await (const event of run) {
        if (screen !== null) screen.show([progress(event)]);
        else out.line(flags.json ? words.eventJson(event) : words.eventLine(event));
      }
      const summary = await run.result();
      if (flags.json) out.line(JSON.stringify({ event: "summary", ...summary }));
      else {
        screen?.close(); // The summary stands below the progress bar.
        out.line(words.redriveSummaryLine(summary, total));
      }
      const { stopped, failedAgain, missing, refused } = summary;
      const well = stopped === null && failedAgain + missing + refused === 0;
      return well ? EXIT_OK : EXIT_FAILED; // Q2
    } finally {
      screen?.close();
    }
  },
});

export const dlqDrop = command({
  name: "dlq drop",
  summary: "Delete dead letters and their dossiers permanently.",
  flags: {
    ...locationFlags,
    ...filter,
    limit,
    "dry-run": dryRun,
    yes: toggle("Confirm the deletion; required."),
    ...queueFlags,
    json,
  },
  async run({ flags, out }) {
    if (!flags.yes && !flags["dry-run"]) {
      throw new UsageError(
        "dlq drop deletes permanently. Preview with --dry-run, then confirm with --yes.",
      );
    }
    const { sources, deadLetters, words } = await load(flags);
    await using _ = sources;
    if ((await sources.queues()) === null) {
      out.note(nothingIn(await sources.scope("dossier")));
      return EXIT_OK;
    }
    const { limit: most, "dry-run": isDryRun } = flags;
    const request = { dryRun: isDryRun, limit: most, signal: interruption() };
    const run = deadLetters.drop(selectionOf(flags), request);
    for await (const event of run) {
      out.line(flags.json ? words.eventJson(event) : words.eventLine(event, "dropped"));
    }
    return (await run.result()).skipped === 0 ? EXIT_OK : EXIT_FAILED;
  },
});
