// STAC: a run as a STAC 1.1.0 item, whose assets are the run's outputs.
//   S1. The records have no footprint that Tidegate knows of, so the geometry is null and there is
//       no bounding box, as the specification demands.
//   S2. The times are those of the records: the window of a replay, else the span of event times.
//   S3. Every input is a link `derived_from`; checksums are multihashes, as the file extension asks.

import type { JsonObject } from "../core/encoding/canonical-json.ts";
import type { EpochMs } from "../core/units.ts";
import type { LineageFacts, LineageInput, LineageOutput, LineageRun } from "./lineage-facts.ts";
import {
  accessUri,
  describeOutput,
  distinctInputs,
  hashParts,
  inputUri,
  instantText,
} from "./names.ts";

export const STAC_VERSION = "1.1.0";
const EXTENSIONS = [
  "https://stac-extensions.github.io/processing/v1.2.0/schema.json",
  "https://stac-extensions.github.io/file/v2.1.0/schema.json",
  "https://stac-extensions.github.io/table/v1.2.0/schema.json",
  "https://stac-extensions.github.io/version/v1.2.0/schema.json",
];
/** The multihash prefix of SHA-256: its code and the length of 32 bytes. */
const MULTIHASH_SHA256 = "1220";
const MULTIHASHES: Readonly<Record<string, string>> = { sha256: MULTIHASH_SHA256, sha1: "1114" };

/** The run as a STAC item. */
export function renderStac(facts: LineageFacts): JsonObject {
  const { run, outputs } = facts;
  const inputs = distinctInputs(facts);
  const { from, to } = spanOf(run, inputs);
  return {
    type: "Feature",
    stac_version: STAC_VERSION,
    stac_extensions: EXTENSIONS,
    id: `${run.pipeline}-${run.id}`,
    geometry: null, // S1
    properties: {
      datetime: null,
      start_datetime: instantText(from), // S2
      end_datetime: instantText(to),
      created: instantText(run.endedAt ?? run.startedAt),
      title: `${run.pipeline}: ${run.kind} run`,
      description: `What the pipeline ${run.pipeline} wrote in a ${run.kind} run`,
      version: run.id,
      "processing:datetime": instantText(run.endedAt ?? run.startedAt),
      "processing:software": { tidegate: run.version, [run.pipeline]: `sha256:${run.codeDigest}` },
      "processing:lineage": `configuration sha256:${run.configDigest}`,
    },
    links: [
      ...inputs.map((input) => ({ ...link("derived_from", inputUri(input)), ...checksum(input) })), // S3
      ...(run.revisionOf === null
        ? []
        : [link("predecessor-version", `urn:tidegate:run:${encodeURIComponent(run.revisionOf)}`)]),
    ],
    assets: Object.fromEntries(outputs.map((output) => [output.name, asset(run, output)])),
  };
}

/** A checksum of a service that is not a multihash, such as a CRC, is left out (S3). */
function checksum(input: LineageInput): JsonObject {
  const { algorithm = "", hex = "" } = hashParts(input) ?? {};
  const prefix = MULTIHASHES[algorithm];
  return prefix === undefined ? {} : { "file:checksum": `${prefix}${hex}` };
}

function link(rel: string, href: string): JsonObject {
  return { rel, href };
}

function asset(run: LineageRun, output: LineageOutput): JsonObject {
  return {
    href: accessUri(output),
    title: output.name,
    description: describeOutput(run, output),
    roles: ["data"],
    "file:checksum": `${MULTIHASH_SHA256}${output.contentHash}`,
    "table:row_count": output.rows,
    ...(output.columns.length > 0 && {
      "table:columns": output.columns.map(({ name, type }) => ({ name, type })),
    }),
  };
}

function spanOf(
  run: LineageRun,
  inputs: readonly LineageInput[],
): { readonly from: EpochMs; readonly to: EpochMs } {
  if (run.window !== null) return run.window;
  let from = run.endedAt ?? run.startedAt;
  let to = run.startedAt;
  for (const [index, { eventTime }] of inputs.entries()) {
    if (index === 0 || eventTime < from) from = eventTime;
    if (index === 0 || eventTime > to) to = eventTime;
  }
  return from <= to ? { from, to } : { from: to, to: from };
}
