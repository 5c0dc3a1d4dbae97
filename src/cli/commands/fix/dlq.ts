// tidegate dlq: lists, shows, redrives and drops dead letters.
//   Q1. list, show and --dry-run change nothing; drop requires --yes.
//   Q2. The exit code is 1 if a redrive stopped by itself, or if an item failed again, is missing
//       or was rejected.

import { type DurationMs, durationMs } from "../../../core/units.ts";
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
import { createLiveScreen } from "../../screen/live-screen.ts";
import { interruption } from "../../stop-signals.ts";
import { age } from "../../words/age-flag.ts";
import { ledgerLocation, pipelineLocation, serverLocation } from "../../words/location-flags.ts";

const RATE_MAX = 1_000;
const LIMIT_MAX = 100_000;
const FOLLOW_S_MAX = 86_400;
const PERCENT_MAX = 100;
const SECOND_MS = 1_000;

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

function filterOf(flags: FilterFlags) {
  const { class: errorClass, fingerprint, key, older, newer } = flags;
  return { errorClass, fingerprint, key, olderThanMs: older, newerThanMs: newer };
}

/** Loaded here to keep other commands fast. */
async function load() {
  const [session, list, words, { systemPorts }] = await Promise.all([
    import("../../sessions/dead-letter-session.ts"),
    import("../../../ingest/dead-letters/dead-letter-list.ts"),
    import("../../reports/dead-letter-text.ts"),
    import("../../../platform/index.ts"),
  ]);
  return { ...session, ...list, words, ports: systemPorts };
}

/** The note of redrive and drop without dead letters and without a queue. */
function nothingIn({ pipeline }: { readonly pipeline: string }): string {
  return (
    `The ledger has no dead letter of ${pipeline}; nothing was changed. For messages that SQS moved, ` +
    "name the queue with --queue."
  );
}

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
    const { openDeadLetterSession, listDeadLetters, words, ports } = await load();
    const session = await openDeadLetterSession(flags);
    try {
      const { ledger } = session;
      const peeked = flags.peek ? await session.openQueues(session.onlyScope()) : null;
      const queue = peeked?.deadLetters ?? undefined;
      const listed = [];
      for (const scope of session.scopes) {
        const request = { scope, own: session.own, filter: filterOf(flags) };
        listed.push(...(await listDeadLetters({ clock: ports.clock, ledger, queue }, request)));
      }
      if (flags.group) {
        for (const group of words.groupsOf(listed).slice(0, flags.limit)) {
          const lines = flags.json ? [words.groupJson(group)] : words.groupLines(group);
          for (const line of lines) out.line(line);
        }
      } else {
        for (const deadLetter of listed.slice(0, flags.limit)) {
          const lines = flags.json
            ? [words.deadLetterJson(deadLetter)]
            : words.deadLetterLines(deadLetter);
          for (const line of lines) out.line(line);
        }
      }
      if (listed.length === 0) out.note("No dead letters match.");
      return EXIT_OK;
    } finally {
      await session.close();
    }
  },
});

export const dlqShow = command({
  name: "dlq show",
  summary: "Show the dossier (failure report) of a dead letter.",
  argument: { name: "KEY", doc: "Record or event key, or any part of s3://bucket/key." },
  flags: { ...locationFlags, json },
  async run({ argument: key = "", flags, out }) {
    const { openDeadLetterSession, listDeadLetters, words, ports } = await load();
    const session = await openDeadLetterSession(flags);
    try {
      let shown = 0;
      for (const scope of session.scopes) {
        const { ledger } = session;
        const request = { scope, filter: { key } };
        for (const deadLetter of await listDeadLetters({ clock: ports.clock, ledger }, request)) {
          const { dossier, state } = deadLetter;
          if (dossier === null) continue;
          if (flags.json) out.line(JSON.stringify({ ...dossier, state }));
          else {
            if (shown > 0) out.line("");
            for (const line of words.dossierLines(dossier, state)) out.line(line);
          }
          shown += 1;
        }
      }
      if (shown === 0) out.note(`No dead letter matches ${key}.`);
      return shown > 0 ? EXIT_OK : EXIT_FAILED;
    } finally {
      await session.close();
    }
  },
});

export const dlqRedrive = command({
  name: "dlq redrive",
  summary: "Send dead letters back to their queue and follow each to its outcome.",
  flags: {
    ...locationFlags,
    ...filter,
    limit,
    rate: wholeNumber("NUMBER", { min: 1, max: RATE_MAX }, "10", "Maximum per second."),
    follow: wholeNumber(
      "S",
      { min: 0, max: FOLLOW_S_MAX },
      "120",
      "Seconds to follow each dead letter.",
    ),
    "stop-after": wholeNumber(
      "NUMBER",
      { min: 1, max: LIMIT_MAX },
      "5",
      "Repeated failures after which the run may stop by itself.",
    ),
    "stop-percent": wholeNumber(
      "PERCENT",
      { min: 0, max: PERCENT_MAX },
      "50",
      "Share of repeated failures above which it stops.",
    ),
    "dry-run": dryRun,
    ...queueFlags,
    json,
  },
  async run({ flags, out }) {
    const { openDeadLetterSession, listDeadLetters, words, ports } = await load();
    const { Redrive } = await import("../../../ingest/dead-letters/redrive.ts");
    const session = await openDeadLetterSession(flags);
    const live = out.terminal && !flags.json && !flags["dry-run"];
    const screen = live ? createLiveScreen(process.stdout) : null;
    try {
      const scope = session.onlyScope();
      const { ledger } = session;
      const wanted = filterOf(flags);
      const listed = await listDeadLetters(
        { clock: ports.clock, ledger },
        { scope, filter: wanted },
      );
      const total = Math.min(listed.length, flags.limit ?? listed.length);
      const opened = await session.openQueues(scope);
      if (opened === null) {
        out.note(nothingIn(scope));
        return EXIT_OK;
      }
      const { queue: source, deadLetters } = opened;
      const run = new Redrive(
        { ...ports, ledger, source, deadLetters: deadLetters ?? source },
        {
          scope,
          own: session.own,
          filter: wanted,
          dryRun: flags["dry-run"],
          perSecond: flags.rate,
          limit: flags.limit,
          signal: interruption(),
          ownQueueOnly: deadLetters === null,
          followMs: durationMs((flags.follow ?? 0) * SECOND_MS),
          stop: {
            failuresMin: flags["stop-after"] ?? 1,
            failedShareMax: (flags["stop-percent"] ?? 0) / PERCENT_MAX,
          },
        },
      );
      const progress = words.createProgress(total);
      for await (const event of run) {
        if (screen !== null) screen.show([progress(event)]);
        else out.line(flags.json ? words.eventJson(event) : words.eventLine(event));
      }
      const { summary } = run;
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
      await session.close();
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
    const { openDeadLetterSession, words, ports } = await load();
    const { dropDeadLetters } = await import("../../../ingest/dead-letters/drop-dead-letters.ts");
    const session = await openDeadLetterSession(flags);
    try {
      const scope = session.onlyScope();
      const opened = await session.openQueues(scope);
      if (opened === null) {
        out.note(nothingIn(scope));
        return EXIT_OK;
      }
      const { deadLetters, queue } = opened;
      const events = dropDeadLetters(
        { clock: ports.clock, ledger: session.ledger, deadLetters, source: queue },
        {
          scope,
          own: session.own,
          source: queue.name,
          filter: filterOf(flags),
          dryRun: flags["dry-run"],
          limit: flags.limit,
          signal: interruption(),
        },
      );
      let skipped = 0;
      for await (const event of events) {
        if (event.kind === "skipped") skipped += 1;
        out.line(flags.json ? words.eventJson(event) : words.eventLine(event, "dropped"));
      }
      return skipped === 0 ? EXIT_OK : EXIT_FAILED;
    } finally {
      await session.close();
    }
  },
});
