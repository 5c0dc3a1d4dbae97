// tidegate quarantine: lists, redrives and drops rows that a schema rejected.
//   Q1. list and --dry-run change nothing; drop requires --yes.
//   Q2. The exit code of redrive is 1 if a row was rejected again, a set was dead-lettered, or no
//       consumer finished it in time.

import { seconds } from "../../../core/units.ts";
import type { QuarantinedSet } from "../../../operate/quarantine.ts";
import {
  command,
  EXIT_FAILED,
  EXIT_OK,
  text,
  toggle,
  UsageError,
  wholeNumber,
} from "../../command.ts";
import { sourceOptions } from "../../flags/location-flags.ts";
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
async function load(flags: Parameters<typeof sourceOptions>[0]) {
  const [{ Sources }, { quarantinedRowsOf }, words] = await Promise.all([
    import("../../../operate/sources.ts"),
    import("../../../operate/quarantine.ts"),
    import("../../print/quarantine-text.ts"),
  ]);
  const sources = new Sources(sourceOptions(flags));
  return { sources, quarantine: quarantinedRowsOf(sources), words };
}

export const quarantineList = command({
  name: "quarantine list",
  summary: "List the rows that a schema rejected, with line and reason.",
  flags: { ...selection, rows: toggle("Print every row with its masked content."), json },
  async run({ flags, out }) {
    const { sources, quarantine, words } = await load(flags);
    await using _ = sources;
    let listed = 0;
    for await (const set of quarantine.list(flags)) {
      listed += 1;
      const lines = flags.json ? words.setJson(set) : words.setLines(set, flags.rows === true);
      for (const line of lines) out.line(line);
    }
    if (listed === 0) out.note("No quarantined rows match.");
    return EXIT_OK;
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
    const { sources, quarantine, words } = await load(flags);
    await using _ = sources;
    const { generation } = await sources.scope("quarantined");
    const which = { ...flags, generation };
    const [first] = await Array.fromAsync(quarantine.list({ ...which, limit: 1 }));
    if (first === undefined) {
      out.note("No quarantined rows match; nothing was sent.");
      return EXIT_OK;
    }
    if (flags["dry-run"]) {
      for await (const set of quarantine.list(which)) {
        out.line(`would be sent  ${words.headOf(set)}`);
      }
      return EXIT_OK;
    }
    const request = { followMs: seconds(flags.follow ?? 0), signal: interruption() };
    const run = quarantine.redrive(which, request);
    for await (const event of run) {
      out.line(flags.json ? words.redrivenJson(event) : words.redrivenLine(event));
    }
    return (await run.result()).unwell === 0 ? EXIT_OK : EXIT_FAILED; // Q2
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
    const { sources, quarantine, words } = await load(flags);
    await using _ = sources;
    const { generation } = await sources.scope("quarantined");
    const which = { ...flags, generation };
    const sets: AsyncIterable<QuarantinedSet> = flags["dry-run"]
      ? quarantine.list(which)
      : quarantine.drop(which); // Q1
    const done = flags["dry-run"] ? "would be dropped" : "dropped";
    let listed = 0;
    for await (const set of sets) {
      listed += 1;
      const { ref, rows } = set;
      const facts = { event: done, record_key: ref.of, set: ref.set, rows: rows.length };
      out.line(flags.json ? JSON.stringify(facts) : `${done}  ${words.headOf(set)}`);
    }
    if (listed === 0) out.note("No quarantined rows match; nothing was dropped.");
    return EXIT_OK;
  },
});
