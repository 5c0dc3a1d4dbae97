// Prove samples: the input that `tidegate prove` runs a handler on.
//   S1. Samples that the user names are the only ones. The default is, next to the pipeline file, a
//       folder `samples`, a file `samples.jsonl`, or a feed `generate.ts`.
//   S2. Without samples, the error says what to do; no record is invented.

import { readdirSync, readFileSync, statSync } from "node:fs";
import { dirname, join, relative, sep } from "node:path";
import type { JsonObject } from "../../../core/encoding/canonical-json.ts";
import { parseStrictJson } from "../../../core/encoding/strict-json.ts";
import { loadFeed } from "../../../run/dev/feed.ts";
import type { Pipeline } from "../../../run/open/load-pipeline.ts";
import type { ProofSample } from "../../../testkit/proof/prove-handler.ts";
import { UsageError } from "../../command.ts";

export interface LoadedSamples {
  readonly samples: readonly ProofSample[];
  /** Their path, for the report. */
  readonly from: string;
}

/** Samples from a feed, which may never end. */
const FED_MAX = 6;
const FILES_MAX = 1_000;
const FILE_BYTES_MAX = 16_777_216;

export async function findSamples(
  pipeline: Pipeline,
  file: string,
  named: string | undefined,
): Promise<LoadedSamples> {
  if (named !== undefined) return { samples: readSamples(pipeline, named), from: named }; // S1
  const beside = ["samples", "samples.jsonl"].map((name) => join(dirname(file), name));
  const existing = beside.find((path) => statSync(path, { throwIfNoEntry: false }) !== undefined);
  if (existing !== undefined) return { samples: readSamples(pipeline, existing), from: existing };
  const feed = ["generate.ts", "generate.js"].map((name) => join(dirname(file), name));
  const generator = feed.find((path) => statSync(path, { throwIfNoEntry: false })?.isFile());
  if (pipeline.source.contents === "objects" && generator !== undefined) {
    return { samples: await fedSamples(generator), from: generator };
  }
  const fix =
    pipeline.source.contents === "objects"
      ? `name a folder of sample files with --samples, or create ${beside[0]}`
      : `name a file of JSON lines with --samples, or create ${beside[1]}`;
  throw new UsageError(`no samples for the handler; ${fix}`); // S2
}

function readSamples(pipeline: Pipeline, path: string): ProofSample[] {
  const stats = statSync(path, { throwIfNoEntry: false });
  if (stats === undefined) throw new UsageError(`--samples: ${path} does not exist`);
  const files = stats.isDirectory() ? filesIn(path) : [path];
  const samples =
    pipeline.source.contents === "messages"
      ? files.flatMap((each) => (pipeline.source.own === null ? payloadsIn : bodiesIn)(each))
      : files.map((each) => ({
          key: stats.isDirectory() ? relative(path, each).split(sep).join("/") : each,
          body: readBytes(each),
        }));
  if (samples.length > 0) return samples;
  throw new UsageError(`no samples in ${path}`); // S2
}

function filesIn(folder: string): string[] {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile() && !entry.name.startsWith("."));
  if (files.length > FILES_MAX) {
    throw new UsageError(`${folder} has ${files.length} files; a proof uses at most ${FILES_MAX}`);
  }
  return files.map(({ parentPath, name }) => join(parentPath, name)).sort();
}

function readBytes(file: string): Uint8Array {
  const { size } = statSync(file);
  if (size > FILE_BYTES_MAX) throw new UsageError(`${file} is over ${FILE_BYTES_MAX} bytes`);
  return readFileSync(file);
}

function payloadsIn(file: string): ProofSample[] {
  const lines = new TextDecoder().decode(readBytes(file)).split("\n");
  return lines.flatMap((line, at) => {
    if (line.trim() === "") return [];
    const parsed = parseStrictJson(line);
    const isObject =
      parsed.kind === "value" && typeof parsed.value === "object" && parsed.value !== null;
    if (!isObject || Array.isArray(parsed.value)) {
      throw new UsageError(`${file}:${at + 1} is not a JSON object; each line is a payload`);
    }
    return [{ payload: parsed.value as JsonObject }];
  });
}

/** The bodies of own messages, one per line, in whatever form the pipeline decodes. */
function bodiesIn(file: string): ProofSample[] {
  const lines = new TextDecoder().decode(readBytes(file)).split("\n");
  return lines.filter((line) => line.trim() !== "").map((body) => ({ body }));
}

async function fedSamples(file: string): Promise<ProofSample[]> {
  const feed = await loadFeed(file);
  const samples: ProofSample[] = [];
  for await (const { key, body } of feed()) {
    samples.push({ key, body });
    if (samples.length >= FED_MAX) break;
  }
  return samples;
}
