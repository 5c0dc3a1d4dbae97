// PROV: a run as PROV-O in JSON-LD 1.1.
//   P1. The context is inside of the document, so reading it needs no network.
//   P2. The run is the activity. It used every object version and message, and generated one
//       version of each dataset. The plan is the configuration; the code is used as well.
//   P3. A run that replaces another says so: its dataset versions are revisions of the former ones.

import type { JsonObject, JsonValue } from "../core/encoding/canonical-json.ts";
import type { LineageFacts, LineageInput, LineageOutput, LineageRun } from "./lineage-facts.ts";
import {
  accessUri,
  agentUri,
  codeUri,
  datasetUri,
  datasetVersionUri,
  describeOutput,
  distinctInputs,
  hashParts,
  inputUri,
  instantText,
  messageUri,
  planUri,
  runUri,
  runUriOf,
  TIDEGATE_TERMS,
} from "./names.ts";

const idRef = (term: string): JsonObject => ({ "@id": term, "@type": "@id" });
const typed = (term: string, type: string): JsonObject => ({ "@id": term, "@type": type });

/** The terms of PROV and DCAT documents (P1). */
export const LINEAGE_CONTEXT: JsonObject = {
  "@version": 1.1,
  prov: "http://www.w3.org/ns/prov#",
  dcat: "http://www.w3.org/ns/dcat#",
  dcterms: "http://purl.org/dc/terms/",
  foaf: "http://xmlns.com/foaf/0.1/",
  spdx: "http://spdx.org/rdf/terms#",
  xsd: "http://www.w3.org/2001/XMLSchema#",
  tg: TIDEGATE_TERMS,
  used: idRef("prov:used"),
  wasGeneratedBy: idRef("prov:wasGeneratedBy"),
  wasAssociatedWith: idRef("prov:wasAssociatedWith"),
  wasAttributedTo: idRef("prov:wasAttributedTo"),
  wasDerivedFrom: idRef("prov:wasDerivedFrom"),
  wasRevisionOf: idRef("prov:wasRevisionOf"),
  wasInformedBy: idRef("prov:wasInformedBy"),
  specializationOf: idRef("prov:specializationOf"),
  atLocation: idRef("prov:atLocation"),
  agent: idRef("prov:agent"),
  hadPlan: idRef("prov:hadPlan"),
  startedAtTime: typed("prov:startedAtTime", "xsd:dateTime"),
  endedAtTime: typed("prov:endedAtTime", "xsd:dateTime"),
  generatedAtTime: typed("prov:generatedAtTime", "xsd:dateTime"),
  eventTime: typed("tg:eventTime", "xsd:dateTime"),
};

/** The run as a PROV-O document in JSON-LD. */
export function renderProv(facts: LineageFacts): JsonObject {
  const inputs = distinctInputs(facts);
  const { run, outputs } = facts;
  return {
    "@context": LINEAGE_CONTEXT,
    "@graph": [
      activity(run, inputs),
      {
        "@id": agentUri(run),
        "@type": "prov:SoftwareAgent",
        "foaf:name": `Tidegate ${run.version}`,
      },
      { "@id": planUri(run), "@type": ["prov:Entity", "prov:Plan"], "tg:sha256": run.configDigest },
      { "@id": codeUri(run), "@type": "prov:Entity", "tg:sha256": run.codeDigest },
      ...inputs.flatMap(entitiesOf),
      ...outputs.flatMap((output) => datasetEntities(run, inputs, output)),
    ],
  };
}

/** P2 */
function activity(run: LineageRun, inputs: readonly LineageInput[]): JsonObject {
  const used = new Set(inputs.flatMap((input) => [inputUri(input), messageUri(input)]));
  used.delete(null);
  return {
    "@id": runUri(run),
    "@type": "prov:Activity",
    "tg:kind": run.kind,
    "tg:pipeline": run.pipeline,
    "tg:generation": run.generation,
    startedAtTime: instantText(run.startedAt),
    ...(run.endedAt !== null && { endedAtTime: instantText(run.endedAt) }),
    ...(run.window !== null && {
      "tg:windowFrom": instantText(run.window.from),
      "tg:windowTo": instantText(run.window.to),
    }),
    used: [...(used as Set<string>), codeUri(run)],
    wasAssociatedWith: agentUri(run),
    "prov:qualifiedAssociation": {
      "@id": `${runUri(run)}:association`,
      "@type": "prov:Association",
      agent: agentUri(run),
      hadPlan: planUri(run),
    },
    ...(run.revisionOf !== null && { wasInformedBy: runUriOf(run.revisionOf) }),
  };
}

function entitiesOf(input: LineageInput): JsonObject[] {
  const { object, eventId, messageId, source } = input;
  const message = messageUri(input);
  const entities: JsonObject[] = [];
  const eventTime = instantText(input.eventTime);
  if (object !== null) {
    entities.push({
      "@id": inputUri(input),
      "@type": "prov:Entity",
      ...(object.etag !== null && { "tg:etag": object.etag }),
      ...(object.size !== null && { "tg:size": object.size }),
      ...hashTerm(input),
      eventTime,
    });
  } else if (message === null) {
    const entity = { "@id": inputUri(input), "@type": "prov:Entity" };
    entities.push({ ...entity, ...hashTerm(input), eventTime });
  }
  if (message !== null) {
    entities.push({
      "@id": message,
      "@type": "prov:Entity",
      ...(eventId !== null && { "tg:eventId": eventId }),
      ...(messageId !== null && { "tg:messageId": messageId }),
      ...(source !== null && { "tg:source": source }),
      ...(object === null ? hashTerm(input) : { wasDerivedFrom: inputUri(input) }),
      eventTime,
    });
  }
  return entities;
}

/** The hash of an input's bytes; one of a service names its algorithm. */
function hashTerm(input: LineageInput): JsonObject {
  const parts = hashParts(input);
  if (parts === null) return {};
  const { algorithm, hex } = parts;
  return algorithm === "sha256" ? { "tg:sha256": hex } : { "tg:checksum": `${algorithm}:${hex}` };
}

function datasetEntities(
  run: LineageRun,
  inputs: readonly LineageInput[],
  output: LineageOutput,
): JsonObject[] {
  const title: JsonValue = { "@value": output.name, "@language": "en" };
  return [
    { "@id": datasetUri(run, output), "@type": "prov:Entity", "dcterms:title": title },
    {
      "@id": datasetVersionUri(run, output),
      "@type": "prov:Entity",
      "dcterms:title": title,
      "dcterms:description": { "@value": describeOutput(run, output), "@language": "en" },
      "tg:rows": output.rows,
      "tg:sha256": output.contentHash,
      atLocation: accessUri(output),
      specializationOf: datasetUri(run, output),
      wasGeneratedBy: runUri(run),
      wasAttributedTo: agentUri(run),
      wasDerivedFrom: inputs.map(inputUri),
      ...(run.endedAt !== null && { generatedAtTime: instantText(run.endedAt) }),
      // P3
      ...(run.revisionOf !== null && {
        wasRevisionOf: datasetVersionUri({ ...run, id: run.revisionOf }, output),
      }),
    },
    { "@id": accessUri(output), "@type": "prov:Location" },
  ];
}
