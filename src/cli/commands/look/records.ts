// tidegate records: lists what the ledger has processed, and which of it came more than once.

import { parseInstant } from "../../../core/encoding/rfc3339.ts";
import type { EpochMs } from "../../../core/units.ts";
import { DUPLICATES_LIMIT, RECORDS_LIMIT } from "../../../operate/defaults.ts";
import { OUTCOMES, type OutcomeName } from "../../../operate/history/record-outcomes.ts";
import type { RecordOrder } from "../../../operate/records.ts";
import {
  command,
  EXIT_OK,
  type Flag,
  oneOf,
  text,
  toggle,
  UsageError,
  wholeNumber,
} from "../../command.ts";
import { generationFlag, ledgerLocation, sourceOptions } from "../../flags/location-flags.ts";

const LIMIT_MAX = 1_000_000;
const ORDERS = ["event-time", "commit-time", "object"] as const satisfies readonly RecordOrder[];
const OUTCOME_NAMES = Object.keys(OUTCOMES) as OutcomeName[];

/** An instant with a zone, such as 2026-11-17T08:00:00Z, or a day of UTC. */
export function instantFlag(doc: string): Flag<EpochMs> {
  return {
    value: "TIME",
    fallback: null,
    doc,
    parse(given, name) {
      const day = /^\d{4}-\d{2}-\d{2}$/.test(String(given));
      const parsed = parseInstant(day ? `${given}T00:00:00Z` : String(given));
      if (parsed.kind === "instant") return parsed.epochMs;
      const example = "a time such as 2026-11-17T08:00:00Z or 2026-11-17";
      throw new UsageError(`--${name} must be ${example}, not "${given}"`);
    },
  };
}

/** Loaded here to keep other commands fast. */
async function load(flags: Parameters<typeof sourceOptions>[0]) {
  const [{ Sources }, { recordListsOf }, words] = await Promise.all([
    import("../../../operate/sources.ts"),
    import("../../../operate/records.ts"),
    import("../../print/record-text.ts"),
  ]);
  const sources = new Sources(sourceOptions(flags));
  return { sources, records: recordListsOf(sources), words };
}

export const recordsDuplicates = command({
  name: "records duplicates",
  summary: "List the records with the most suppressed duplicates, and where the latest came from.",
  flags: {
    ...ledgerLocation,
    pipeline: text("FILE|NAME", null, "Pipeline file or name (default: all of the ledger)."),
    generation: generationFlag(
      "Only this generation (default: 0 of a named pipeline, otherwise all).",
    ),
    limit: wholeNumber(
      "NUMBER",
      { min: 1, max: 1_000 },
      String(DUPLICATES_LIMIT),
      "Records of each pipeline.",
    ),
    json: toggle("Print JSON lines."),
  },
  async run({ flags, out }) {
    const { sources, records, words } = await load(flags);
    await using _ = sources;
    const listed = await records.duplicates({ limit: flags.limit });
    for (const record of listed) {
      const lines = flags.json ? [JSON.stringify(record)] : words.duplicateLines(record);
      for (const line of lines) out.line(line);
    }
    if (listed.length === 0) out.note("No duplicate was suppressed.");
    return EXIT_OK;
  },
});

export const recordsList = command({
  name: "records list",
  summary:
    "List what a pipeline has processed: times, outcomes, row counts and where it came from.",
  flags: {
    ...ledgerLocation,
    pipeline: text(
      "FILE|NAME",
      null,
      "Pipeline file or name (default: all pipelines of the ledger, which counts all records first).",
    ),
    generation: generationFlag(
      "Only this generation (default: 0 of a named pipeline, otherwise all).",
    ),
    since: instantFlag("Only records at this time or later: 2026-11-17T08:00:00Z or 2026-11-17."),
    until: instantFlag("Only records before this time."),
    prefix: text(
      "PREFIX",
      null,
      "Only objects that start with it: s3://bucket/prefix, or a prefix in the pipeline's bucket.",
    ),
    outcome: oneOf(OUTCOME_NAMES, null, "Only records with this outcome."),
    by: oneOf(
      ORDERS,
      null,
      "Order, and what --since and --until select by; with object they select by event time (default: object with --prefix, otherwise event-time).",
    ),
    limit: wholeNumber(
      "NUMBER",
      { min: 1, max: LIMIT_MAX },
      String(RECORDS_LIMIT),
      "Records to list at most.",
    ),
    json: toggle("Print each record as a JSON line, with its input and its run."),
  },
  async run({ flags, out }) {
    const { sources, records, words } = await load(flags);
    await using _ = sources;
    const { json: asJson, limit } = flags;
    const { records: listed, more } = await records.list(flags, { limit, runs: asJson });
    for (const line of asJson ? listed.map(words.recordJson) : words.recordLines(listed)) {
      out.line(line);
    }
    if (listed.length === 0) out.note("The ledger has no such record.");
    if (more) out.note(`There are more records; list them with a --limit above ${limit}.`);
    return EXIT_OK;
  },
});
