// tidegate lineage, tidegate runs: what a run read and wrote, from the ledger.

import { TidegateError } from "../../../core/errors.ts";
import { LINEAGE_FORMATS } from "../../../operate/defaults.ts";
import type { ListedRun } from "../../../operate/runs.ts";
import { command, EXIT_FAILED, EXIT_OK, oneOf, text, toggle } from "../../command.ts";
import { generationFlag, ledgerLocation, sourceOptions } from "../../flags/location-flags.ts";
import type { Output } from "../../screen/output.ts";

const ledgerFlags = {
  ...ledgerLocation,
  pipeline: text("FILE|NAME", null, "Pipeline file or name (default: all of the ledger)."),
  generation: generationFlag("Only this generation (default: all)."),
};

/** Loaded here to keep other commands fast. */
async function load(flags: Parameters<typeof sourceOptions>[0]) {
  const [{ Sources }, { lineageOf }, { runsOf }] = await Promise.all([
    import("../../../operate/sources.ts"),
    import("../../../operate/lineage.ts"),
    import("../../../operate/runs.ts"),
  ]);
  const sources = new Sources(sourceOptions(flags));
  return { sources, reader: lineageOf(sources), runs: runsOf(sources) };
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
  async run({ argument: what = "", flags, out }) {
    const { sources, reader } = await load(flags);
    await using _ = sources;
    if (flags.rows) {
      let listed = 0;
      for await (const row of reader.rows(what)) {
        listed += 1;
        out.line(JSON.stringify(row));
      }
      if (listed === 0) out.note(`No table in the ledger's database has rows of ${what}.`);
      return listed === 0 ? EXIT_FAILED : EXIT_OK;
    }
    const answer = await reader.document(what, flags.as);
    if (answer.kind === "missing") {
      out.note(answer.reason);
      return EXIT_FAILED;
    }
    await print([`${JSON.stringify(answer.document, null, 2)}\n`], flags.out, out);
    return EXIT_OK;
  },
});

export const runsList = command({
  name: "runs list",
  summary: "List the runs of a ledger, newest first: times, code, configuration and counts.",
  flags: { json: toggle("Print each run as a JSON line."), ...ledgerFlags },
  async run({ flags, out }) {
    const { sources, runs: reader } = await load(flags);
    await using _ = sources;
    const { runs, more } = await reader.list();
    for (const run of runs) out.line(flags.json ? JSON.stringify(run) : lineOf(run));
    if (more) out.note(`Older runs are not shown, after ${runs.length}.`);
    if (runs.length === 0) out.note("The ledger has no runs yet.");
    return EXIT_OK;
  },
});

export const runsManifest = command({
  name: "runs manifest",
  summary: "Write the manifest of a run: inputs with versions, outputs with hashes, digests.",
  argument: { name: "RUN", doc: "The id of a run (see runs list)." },
  flags: { out: text("FILE", null, "File to write (default: print)."), ...ledgerFlags },
  async run({ argument: id = "", flags, out }) {
    const { sources, runs } = await load(flags);
    await using _ = sources;
    const manifest = await runs.manifest(id);
    if (manifest === null) {
      out.note(`The ledger has no run ${id}; list them with tidegate runs list.`);
      return EXIT_FAILED;
    }
    await print(manifest, flags.out, out);
    return EXIT_OK;
  },
});

const DIGEST_CHARS = 12;

function lineOf(run: ListedRun): string {
  const { pipeline, generation } = run;
  const at = (time: number) => new Date(time).toISOString();
  const end = run.endedAt === null ? `seen ${at(run.seenAt)}` : `ended ${at(run.endedAt)}`;
  const scope = generation === 0 ? pipeline : `${pipeline} generation ${generation}`;
  const code = `code ${run.codeDigest.slice(0, DIGEST_CHARS)}`;
  return `${run.id}  ${run.kind}  ${scope}  ${at(run.startedAt)}  ${end}  ${code}  ${run.counts}`;
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
