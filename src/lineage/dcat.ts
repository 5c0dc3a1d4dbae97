// DCAT: the outputs of a run as a DCAT 3 catalogue in JSON-LD.
//   D1. Every dataset has a title, a description and a distribution with an access URL and a
//       checksum, which is what DCAT-AP asks for and what catalogues can index.
//   D2. A dataset version names its sources (dcterms:source) and the run that generated it, so a
//       catalogue leads back to the objects. A source has a checksum if one was recorded and SPDX
//       has a name for its algorithm.

import type { JsonObject } from "../core/encoding/canonical-json.ts";
import type { LineageFacts, LineageInput, LineageOutput, LineageRun } from "./lineage-facts.ts";
import {
  accessUri,
  datasetUri,
  datasetVersionUri,
  describeOutput,
  distinctInputs,
  hashParts,
  inputUri,
  instantText,
  runUri,
} from "./names.ts";
import { LINEAGE_CONTEXT } from "./prov.ts";

/** The outputs of a run as a DCAT catalogue in JSON-LD. */
export function renderDcat(facts: LineageFacts): JsonObject {
  const { run, outputs } = facts;
  const inputs = distinctInputs(facts);
  const datasets = outputs.map((output) => dataset(run, inputs, output));
  return {
    "@context": LINEAGE_CONTEXT,
    "@graph": [
      {
        "@id": `urn:tidegate:catalog:${encodeURIComponent(run.pipeline)}`,
        "@type": "dcat:Catalog",
        "dcterms:title": english(`Outputs of the pipeline ${run.pipeline}`),
        "dcterms:description": english(
          `Datasets that the pipeline ${run.pipeline} wrote, with their sources.`,
        ),
        "dcat:dataset": outputs.map((output) => ref(datasetVersionUri(run, output))),
      },
      ...datasets.flat(),
      ...inputs.flatMap(checkedSource), // D2
    ],
  };
}

function dataset(
  run: LineageRun,
  inputs: readonly LineageInput[],
  output: LineageOutput,
): JsonObject[] {
  const id = datasetVersionUri(run, output);
  const issued = run.endedAt ?? run.startedAt;
  return [
    {
      "@id": id,
      "@type": ["dcat:Dataset", "prov:Entity"],
      "dcterms:title": english(output.name),
      "dcterms:description": english(describeOutput(run, output)),
      "dcterms:identifier": id,
      "dcterms:issued": dateTime(issued),
      "dcat:version": run.id,
      "dcat:isVersionOf": ref(datasetUri(run, output)),
      ...(run.revisionOf !== null && {
        "dcat:previousVersion": ref(datasetVersionUri({ ...run, id: run.revisionOf }, output)),
      }),
      ...(run.window !== null && { "dcterms:temporal": period(id, run.window) }),
      "dcterms:source": inputs.map((input) => ref(inputUri(input))), // D2
      wasGeneratedBy: runUri(run),
      "dcat:distribution": ref(`${id}:distribution`),
    },
    {
      "@id": `${id}:distribution`,
      "@type": "dcat:Distribution",
      "dcterms:title": english(output.name),
      "dcat:accessURL": ref(accessUri(output)),
      "spdx:checksum": checksum(`${id}:checksum`, "sha256", output.contentHash),
    },
    { "@id": runUri(run), "@type": "prov:Activity" },
  ];
}

/** The checksum of an input (D2). */
function checkedSource(input: LineageInput): JsonObject[] {
  const { algorithm = "", hex = "" } = hashParts(input) ?? {};
  if (algorithm !== "sha256" && algorithm !== "sha1") return [];
  const value = checksum(`urn:tidegate:checksum:${algorithm}:${hex}`, algorithm, hex);
  return [{ "@id": inputUri(input), "@type": "prov:Entity", "spdx:checksum": value }];
}

function checksum(id: string, algorithm: "sha1" | "sha256", hex: string): JsonObject {
  return {
    "@id": id,
    "@type": "spdx:Checksum",
    "spdx:algorithm": ref(`http://spdx.org/rdf/terms#checksumAlgorithm_${algorithm}`),
    "spdx:checksumValue": { "@value": hex, "@type": "xsd:hexBinary" },
  };
}

function period(id: string, window: NonNullable<LineageRun["window"]>): JsonObject {
  return {
    "@id": `${id}:temporal`,
    "@type": "dcterms:PeriodOfTime",
    "dcat:startDate": dateTime(window.from),
    "dcat:endDate": dateTime(window.to),
  };
}

const ref = (id: string): JsonObject => ({ "@id": id });
const english = (text: string): JsonObject => ({ "@value": text, "@language": "en" });

function dateTime(at: Parameters<typeof instantText>[0]): JsonObject {
  return { "@value": instantText(at), "@type": "xsd:dateTime" };
}
