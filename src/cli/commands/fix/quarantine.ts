// tidegate quarantine: lists, redrives and drops rows that a schema rejected.
//   Q1. list and --dry-run change nothing; drop requires --yes.
//   Q2. The exit code of redrive is 1 if a row was rejected again, a set was dead-lettered, or no
//       consumer finished it in time.

import { seconds } from "../../../core/units.ts";
import type { QuarantinedSet } from "../../../ingest/quarantine/quarantine-access.ts";
import {
  command,
  EXIT_FAILED,
  EXIT_OK,
  type FlagValues,
  text,
  toggle,
  UsageError,
  wholeNumber,
} from "../../command.ts";
import { interruption } from "../../stop-signals.ts";
import { locationFlags, queueFlags } from "./dlq.ts";

const LIMIT_MAX = 100_000;
const FOLLOW_S_MAX = 86_400;

const selection = {
  ...locationFlags,
  key: text("TEXT", null, "Only this record key, this set, or any part of s3://bucket/key."),
  limit: wholeNumber("NUMBER", { min: 1, max: LIMIT_MAX }, null, "Maximum number of objects."),
};
const json = toggle("Print JSON lines.");
const dryRun = toggle("Print what would be done, and change nothing.");

/** Loaded here to keep other commands fast. */
async function load() {
  const [session, access, words, { systemPorts }] = await Promise.all([
    import("../../sessions/dead-letter-session.ts"),
    import("../../../ingest/quarantine/quarantine-access.ts"),
    import("../../reports/quarantine-text.ts"),
    import("../../../platform/index.ts"),
  ]);
  return { ...session, ...access, words, ports: systemPorts };
}

type Loaded = Awaited<ReturnType<typeof load>>;
type Session = Awaited<ReturnType<Loaded["openDeadLetterSession"]>>;

async function setsOf(
  { quarantinedSets }: Loaded,
  { ledger }: Session,
  scope: Session["scopes"][number],
  { key = "", limit = LIMIT_MAX }: Pick<FlagValues<typeof selection>, "key" | "limit">,
): Promise<QuarantinedSet[]> {
  const sets: QuarantinedSet[] = [];
  for await (const set of quarantinedSets(ledger, scope, key)) {
    if (sets.push(set) >= limit) break;
  }
  return sets;
}

export const quarantineList = command({
  name: "quarantine list",
  summary: "List the rows that a schema rejected, with line and reason.",
  flags: { ...selection, rows: toggle("Print every row with its masked content."), json },
  async run({ flags, out }) {
    const loaded = await load();
    const { words } = loaded;
    const session = await loaded.openDeadLetterSession(flags);
    try {
      let listed = 0;
      for (const scope of session.scopes) {
        for (const set of await setsOf(loaded, session, scope, flags)) {
          listed += 1;
          const lines = flags.json ? words.setJson(set) : words.setLines(set, flags.rows === true);
          for (const line of lines) out.line(line);
        }
      }
      if (listed === 0) out.note("No quarantined rows match.");
      return EXIT_OK;
    } finally {
      await session.close();
    }
  },
});

export const quarantineRedrive = command({
  name: "quarantine redrive",
  summary: "Run quarantined rows again, on their own, and follow them to their outcome.",
  flags: {
    ...selection,
    follow: wholeNumber("S", { min: 0, max: FOLLOW_S_MAX }, "120", "Seconds to wait for outcomes."),
    "dry-run": dryRun,
    ...queueFlags,
    json,
  },
  async run({ flags, out }) {
    const loaded = await load();
    const { words, ports } = loaded;
    const session = await loaded.openDeadLetterSession(flags);
    try {
      const scope = session.onlyScope();
      const sets = await setsOf(loaded, session, scope, flags);
      if (flags["dry-run"]) {
        for (const set of sets) out.line(`would be sent  ${words.headOf(set)}`);
      }
      const [first] = sets;
      if (first === undefined) out.note("No quarantined rows match; nothing was sent.");
      if (first === undefined || flags["dry-run"]) return EXIT_OK;
      const opened = await session.openQueues(scope, async () => first.facts.queue);
      if (opened === null) throw new UsageError("name the pipeline's queue with --queue");
      const { queue } = opened;
      const { ledger } = session;
      const followMs = seconds(flags.follow ?? 0);
      const options = { followMs, signal: interruption() };
      let well = true;
      for await (const event of loaded.redriveSets(
        { ...ports, ledger, queue },
        scope,
        sets,
        options,
      )) {
        out.line(flags.json ? words.redrivenJson(event) : words.redrivenLine(event));
        if (event.kind === "pending" || event.kind === "dead-lettered") well = false;
        if (event.kind === "committed" && event.again > 0) well = false;
      }
      return well ? EXIT_OK : EXIT_FAILED; // Q2
    } finally {
      await session.close();
    }
  },
});

export const quarantineDrop = command({
  name: "quarantine drop",
  summary: "Delete quarantined rows permanently.",
  flags: { ...selection, "dry-run": dryRun, yes: toggle("Confirm the deletion; required."), json },
  async run({ flags, out }) {
    if (!flags.yes && !flags["dry-run"]) {
      throw new UsageError(
        "quarantine drop deletes permanently. Preview with --dry-run, then confirm with --yes.",
      );
    }
    const loaded = await load();
    const { words } = loaded;
    const session = await loaded.openDeadLetterSession(flags);
    try {
      const scope = session.onlyScope();
      const sets = await setsOf(loaded, session, scope, flags);
      for (const set of sets) {
        if (!flags["dry-run"]) await loaded.dropSet(session.ledger, scope, set); // Q1
        const done = flags["dry-run"] ? "would be dropped" : "dropped";
        const { ref, rows } = set;
        const facts = { event: done, record_key: ref.of, set: ref.set, rows: rows.length };
        out.line(flags.json ? JSON.stringify(facts) : `${done}  ${words.headOf(set)}`);
      }
      if (sets.length === 0) out.note("No quarantined rows match; nothing was dropped.");
      return EXIT_OK;
    } finally {
      await session.close();
    }
  },
});
