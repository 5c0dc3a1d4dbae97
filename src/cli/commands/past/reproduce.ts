// tidegate reproduce: runs the inputs of a manifest again and compares the results.
//   E1. The exit code is 0 if records were run again, all have the same input and the same result,
//       and none was left out, else 1. Versions that a later event replaced, and that are gone, are
//       only counted.

import { readFileSync } from "node:fs";
import type { Reproduction } from "../../../operate/replays/replays.ts";
import { command, EXIT_FAILED, EXIT_OK, text, toggle, UsageError } from "../../command.ts";
import { sourceOptions } from "../../flags/location-flags.ts";
import { interruption } from "../../stop-signals.ts";
import { replayLocation } from "./replay.ts";

export const reproduce = command({
  name: "reproduce",
  summary: "Run a manifest again into a shadow, and compare the results record by record.",
  argument: { name: "MANIFEST", doc: "A run_manifest.json of replay or runs manifest." },
  flags: {
    pipeline: text("FILE", null, "Pipeline file (default: the file that the manifest names)."),
    ...replayLocation,
    json: toggle("Print JSON lines."),
  },
  async run({ argument: path = "", flags, out }) {
    const [{ Sources }, { parseRunManifest, replaysOf }, { useLines }] = await Promise.all([
      import("../../../operate/sources.ts"),
      import("../../../operate/replays/replays.ts"),
      import("../../print/replay-text.ts"),
    ]);
    const manifest = parseRunManifest(textOf(path), path);
    const pipeline = flags.pipeline ?? manifest.run.file;
    if (pipeline === null) {
      throw new UsageError(`${path} names no pipeline file; name it with --pipeline FILE`);
    }
    await using sources = new Sources(sourceOptions({ ...flags, pipeline }));
    const signal = interruption();
    const result = await replaysOf(sources).reproduce(manifest, { signal });
    const { records, differing, first, digests, replaced, leftOut, gone, uses } = result;
    const { changedInputs } = result;
    const isSame = records > 0 && differing === 0 && leftOut === 0 && changedInputs.count === 0;
    if (flags.json) out.line(JSON.stringify(result));
    else if (records === 0) out.line("no record of the manifest could be run again");
    else if (differing === 0) {
      out.line(`identical: ${records} records have the same results; live tables were not read`);
    } else {
      out.line(`different: ${differing} of ${records} records have other results`);
      out.line(`  first: ${first?.uri} was ${first?.expected}, is ${first?.actual}`);
      const digest = digests.length === 0 ? "code and configuration are the same" : null;
      out.line(`  ${digest ?? `other digest: ${digests.join(", ")}`}`);
    }
    if (flags.json) return isSame ? EXIT_OK : EXIT_FAILED;
    for (const line of changedLines(changedInputs)) out.line(line);
    for (const line of useLines(uses)) out.line(line);
    if (replaced.length > 0) {
      out.line(`  the file has other ${replaced.join(", ")}; those of the manifest were used`);
    }
    if (gone > 0)
      out.line(`  ${gone} versions are gone; later events of the manifest replaced them`);
    for (const line of coverLines(result.covers)) out.line(line);
    if (leftOut > 0) out.line(`  not run: ${leftOut} records whose events cannot be rebuilt`);
    return isSame ? EXIT_OK : EXIT_FAILED; // E1
  },
});

function changedLines({ count, first }: Reproduction["changedInputs"]): string[] {
  if (first === null) return [];
  const inputs = count === 1 ? "1 input has" : `${count} inputs have`;
  const { uri, expected, actual } = first;
  return [
    `  changed input: ${inputs} other bytes than the manifest says`,
    `    first: ${uri} was ${expected}, is ${actual}`,
  ];
}

/** What the manifest leaves out, and what its result therefore says nothing about. */
function coverLines({ part, parts, sealed }: Reproduction["covers"]): string[] {
  const lines: string[] = [];
  if (parts > 1) lines.push(`  only part ${part} of ${parts}; run the other parts, too`);
  if (sealed === "open") lines.push("  the run had not ended when the manifest was written");
  if (sealed === "presumed") {
    lines.push("  the end of the run was presumed; if there is a revision-2, run that instead");
  }
  return lines;
}

function textOf(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    throw new UsageError(`${path} cannot be read; name a run_manifest.json`);
  }
}
