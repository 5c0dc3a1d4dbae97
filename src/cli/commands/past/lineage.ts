// tidegate lineage, tidegate runs: what a run read and wrote, from the ledger.

import { TidegateError } from "../../../core/errors.ts";
import type { LineageFacts } from "../../../lineage/lineage-facts.ts";
import { LINEAGE_FORMATS } from "../../../lineage/merge-documents.ts";
import type { Ledger, RunRow } from "../../../ports/ledger.ts";
import type { LedgerScope } from "../../../ports/record.ts";
import type { LocationOf } from "../../../run/lineage/recorded-run.ts";
import {
  command,
  EXIT_FAILED,
  EXIT_OK,
  type ExitCode,
  oneOf,
  text,
  toggle,
} from "../../command.ts";
import type { Output } from "../../screen/output.ts";
import { generationFlag, ledgerLocation } from "../../words/location-flags.ts";

const PIPELINE_FILE = /\.m?[jt]s$/;
const OBJECT_URL = /^s3:\/\/([^/]+)\/(.+)$/s;
const TABLE_ROW = /^([^:/]+):(.+)$/s;
const RUNS_MAX = 1_000;

const ledgerFlags = {
  ...ledgerLocation,
  pipeline: text("FILE|NAME", null, "Pipeline file or name (default: all of the ledger)."),
  generation: generationFlag("Only this generation (default: all)."),
};

interface LedgerFlags {
  readonly ledger: string | undefined;
  readonly data: string | undefined;
  readonly pipeline: string | undefined;
  readonly generation: number | undefined;
}

export const lineage = command({
  name: "lineage",
  summary:
    "Show the lineage of a run, object, table or row, as a PROV, DCAT, STAC or OpenLineage document.",
  argument: {
    name: "RUN|OBJECT|TABLE|ROW",
    doc: "The id of a run (see runs list), s3://bucket/key, a table, or table:key of a row.",
  },
  flags: {
    rows: toggle("List the rows that an object owns as JSON lines, instead of a document."),
    as: oneOf(LINEAGE_FORMATS, "prov", "The format of the document."),
    out: text("FILE", null, "File to write (default: print)."),
    ...ledgerFlags,
  },
  run: ({ argument: what = "", flags, out }) =>
    withLedger(flags, async ({ ledger, scopes, locationOf }) => {
      if (flags.rows) return listRows(ledger, what, out);
      const { renderLineage } = await import("../../../lineage/merge-documents.ts");
      const result = await factsAbout({ ledger, scopes, locationOf }, what);
      if (typeof result === "string") {
        out.note(result);
        return EXIT_FAILED;
      }
      const document = renderLineage(flags.as ?? "prov", result);
      await print([`${JSON.stringify(document, null, 2)}\n`], flags.out, out);
      return EXIT_OK;
    }),
});

/** The facts about what the text names, or a sentence that says why there are none. */
async function factsAbout(opened: Opened, what: string): Promise<LineageFacts[] | string> {
  const recorded = await import("../../../run/lineage/recorded-run.ts");
  const { ledger, scopes, locationOf } = opened;
  const inScopes = async (factsIn: (scope: LedgerScope) => Promise<LineageFacts[]>) =>
    (await Promise.all(scopes.map(factsIn))).flat();
  const [, bucket, key] = OBJECT_URL.exec(what) ?? [];
  if (bucket !== undefined && key !== undefined) {
    const object = { bucket, key };
    const facts = await inScopes((scope) =>
      recorded.factsOfObject(ledger, scope, object, locationOf),
    );
    return facts.length > 0 ? facts : `The ledger has no committed record of ${what}.`;
  }
  if (what.startsWith("s3://")) return `${what} names no object; write s3://bucket/key.`;
  const run = await recorded.findRecordedRun(ledger, scopes, what);
  if (run !== null) return [await recorded.factsOfRun(ledger, run, locationOf)];
  if (TABLE_ROW.test(what)) return await factsOfRow(opened, what);
  const facts = await inScopes((scope) => recorded.factsOfOutput(ledger, scope, what, locationOf));
  if (facts.length > 0) return facts;
  return `The ledger has no run ${what}, and no run wrote to a table of that name; see runs list.`;
}

/** Prints the rows that an object owns, one JSON line each. */
async function listRows(ledger: Ledger, what: string, out: Output): Promise<ExitCode> {
  const { rowsOfObject } = await import("../../../run/lineage/row-lineage.ts");
  const [, bucket, key] = OBJECT_URL.exec(what) ?? [];
  if (bucket === undefined || key === undefined) {
    const message = `${what} is not an object; --rows needs s3://bucket/key`;
    throw new TidegateError("TG_CONFIG_INVALID", message);
  }
  let listed = 0;
  for await (const row of rowsOfObject(ledger, { bucket, key })) {
    listed += 1;
    out.line(JSON.stringify(row));
  }
  if (listed === 0) out.note(`No table in the ledger's database has rows of ${what}.`);
  return listed === 0 ? EXIT_FAILED : EXIT_OK;
}

/** The facts of the record that wrote a row. */
async function factsOfRow(
  { ledger, scopes, locationOf }: Opened,
  what: string,
): Promise<LineageFacts[] | string> {
  const { findRowOrigin } = await import("../../../run/lineage/row-lineage.ts");
  const { factsOfRecord } = await import("../../../run/lineage/recorded-run.ts");
  const [, table = "", text = ""] = TABLE_ROW.exec(what) ?? [];
  const row = await findRowOrigin(ledger, scopes, table, keyOf(text));
  if (row.kind === "no-table") return `The ledger's database has no table ${table} of a pipeline.`;
  if (row.kind === "no-row") return `The table ${table} has no visible row with the key ${text}.`;
  if (row.origin !== null) return [await factsOfRecord(ledger, row.origin, locationOf)];
  return `The row ${what} exists, but the ledger no longer has the record that wrote it.`;
}

/** A key of one column as it is, one of several columns as a JSON array. */
function keyOf(text: string): readonly string[] {
  try {
    const value: unknown = JSON.parse(text);
    return Array.isArray(value) ? value.map(String) : [text];
  } catch {
    return [text];
  }
}

export const runsList = command({
  name: "runs list",
  summary: "List the runs of a ledger, newest first: times, code, configuration and counts.",
  flags: { json: toggle("Print each run as a JSON line."), ...ledgerFlags },
  run: ({ flags, out }) =>
    withLedger(flags, async ({ ledger, scopes }): Promise<ExitCode> => {
      const { newestRuns } = await import("../../../run/lineage/recorded-run.ts");
      const runs = await newestRuns(ledger, scopes, RUNS_MAX + 1);
      for (const { scope, row } of runs.slice(0, RUNS_MAX)) {
        out.line(flags.json ? JSON.stringify({ ...scope, ...row }) : lineOf(scope, row));
      }
      if (runs.length > RUNS_MAX) out.note(`Older runs are not shown, after ${RUNS_MAX}.`);
      if (runs.length === 0) out.note("The ledger has no runs yet.");
      return EXIT_OK;
    }),
});

export const runsManifest = command({
  name: "runs manifest",
  summary: "Write the manifest of a run: inputs with versions, outputs with hashes, digests.",
  argument: { name: "RUN", doc: "The id of a run (see runs list)." },
  flags: { out: text("FILE", null, "File to write (default: print)."), ...ledgerFlags },
  run: ({ argument: id = "", flags, out }) =>
    withLedger(flags, async ({ ledger, scopes, locationOf }) => {
      const [{ findRecordedRun }, { manifestOfRun }, { listReplays }, { missingOf }] =
        await Promise.all([
          import("../../../run/lineage/recorded-run.ts"),
          import("../../../run/lineage/recorded-manifest.ts"),
          import("../../../replay/replay-registry.ts"),
          import("../../../operate/replays/replay-manifest.ts"),
        ]);
      const run = await findRecordedRun(ledger, scopes, id);
      if (run === null) {
        out.note(`The ledger has no run ${id}; list them with tidegate runs list.`);
        return EXIT_FAILED;
      }
      const replays = (await Promise.all(scopes.map((each) => listReplays(ledger, each)))).flat();
      const entry = replays.find((each) => each.run === id);
      const missing = entry === undefined ? [] : missingOf(entry);
      await print(manifestOfRun(ledger, run, locationOf, missing), flags.out, out);
      return EXIT_OK;
    }),
});

const DIGEST_CHARS = 12;

function lineOf({ pipeline, generation }: LedgerScope, run: RunRow): string {
  const at = (time: number) => new Date(time).toISOString();
  const end = run.endedAt === null ? `seen ${at(run.seenAt)}` : `ended ${at(run.endedAt)}`;
  const scope = generation === 0 ? pipeline : `${pipeline} generation ${generation}`;
  const code = `code ${run.codeDigest.slice(0, DIGEST_CHARS)}`;
  return `${run.id}  ${run.kind}  ${scope}  ${at(run.startedAt)}  ${end}  ${code}  ${run.counts}`;
}

interface Opened {
  readonly ledger: Ledger;
  readonly scopes: readonly LedgerScope[];
  readonly locationOf: LocationOf;
}

/** Opens the ledger for reading, and closes it afterwards. */
async function withLedger<T>(flags: LedgerFlags, work: (opened: Opened) => Promise<T>): Promise<T> {
  const [{ openLedger }, { ledgerUrl }, { systemPorts }, { outputLocations }] = await Promise.all([
    import("../../../run/open/open-ledger.ts"),
    import("../../../run/open/find-server.ts"),
    import("../../../platform/index.ts"),
    import("../../../run/lineage/output-locations.ts"),
  ]);
  const url = ledgerUrl(flags);
  const isFile = flags.pipeline !== undefined && PIPELINE_FILE.test(flags.pipeline);
  const pipeline = isFile ? await loadFile(flags.pipeline ?? "") : null;
  const name = pipeline?.name ?? flags.pipeline;
  const ledger = await openLedger(url, systemPorts, { readOnly: true });
  try {
    const stats = await ledger.stats();
    const scopes = stats
      .filter((scope) => name === undefined || scope.pipeline === name)
      .filter(({ generation }) => flags.generation === undefined || generation === flags.generation)
      .map(({ pipeline: of, generation }) => ({ pipeline: of, generation }));
    return await work({ ledger, scopes, locationOf: outputLocations(pipeline, url) });
  } finally {
    await ledger.close();
  }
}

async function loadFile(file: string) {
  const { loadPipeline } = await import("../../../run/open/load-pipeline.ts");
  return await loadPipeline(file);
}

/** Writes pieces of text to a file that must not exist, or prints them. */
async function print(
  pieces: AsyncIterable<string> | Iterable<string>,
  path: string | undefined,
  out: Output,
): Promise<void> {
  if (path !== undefined) {
    const { createWriteStream } = await import("node:fs");
    const { pipeline } = await import("node:stream/promises");
    const { Readable } = await import("node:stream");
    try {
      await pipeline(Readable.from(pieces), createWriteStream(path, { flags: "wx" }));
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === undefined) throw error;
      const reason = code === "EEXIST" ? "exists" : `cannot be written (${code})`;
      const message = `${path} ${reason}; name another file with --out`;
      throw new TidegateError("TG_CONFIG_INVALID", message);
    }
    return;
  }
  let rest = "";
  for await (const piece of pieces) {
    const lines = (rest + piece).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) out.line(line);
  }
  if (rest !== "") out.line(rest);
}
