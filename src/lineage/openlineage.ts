// OpenLineage: a run as run events, as Marquez and DataHub read them.
//   O1. A run has exactly one START and at most one event that ends it: COMPLETE or FAIL. A run
//       that continues, or that crashed, has none.
//   O2. Objects are named as OpenLineage names them: namespace `s3://bucket`, name the key.
//   O3. Every facet names its producer and its schema.

import type { JsonObject } from "../core/encoding/canonical-json.ts";
import type { LineageFacts, LineageInput, LineageOutput, LineageRun } from "./lineage-facts.ts";
import { encodeSegment, instantText, TIDEGATE_PRODUCER } from "./names.ts";

const SPEC = "https://openlineage.io/spec";
const RUN_EVENT = `${SPEC}/2-0-2/OpenLineage.json#/$defs/RunEvent`;

/** The events of a run, oldest first (O1). */
export function renderOpenLineage(facts: LineageFacts): readonly JsonObject[] {
  const { run } = facts;
  const events = [startEvent(run)];
  if (run.endedAt !== null) events.push(endEvent(facts, run.endedAt));
  return events;
}

/** The event that announces a run; its inputs are not known yet. */
export function startEvent(run: LineageRun): JsonObject {
  return runEvent(run, "START", instantText(run.startedAt), [], []);
}

function endEvent(facts: LineageFacts, endedAt: LineageRun["startedAt"]): JsonObject {
  const { run, inputs, outputs } = facts;
  return runEvent(
    run,
    run.failure === null ? "COMPLETE" : "FAIL",
    instantText(endedAt),
    datasetsOf(inputs),
    outputs.map((output) => outputDataset(run, output)),
  );
}

function runEvent(
  run: LineageRun,
  eventType: "START" | "COMPLETE" | "FAIL",
  eventTime: string,
  inputs: readonly JsonObject[],
  outputs: readonly JsonObject[],
): JsonObject {
  return {
    eventType,
    eventTime,
    producer: TIDEGATE_PRODUCER,
    schemaURL: RUN_EVENT,
    run: { runId: run.id, facets: runFacets(run) },
    job: {
      namespace: "tidegate",
      name: run.pipeline,
      facets: {
        jobType: facet("2-0-4/JobTypeJobFacet", {
          processingType: run.kind === "live" ? "STREAMING" : "BATCH",
          integration: "TIDEGATE",
          jobType: run.kind.toUpperCase(),
        }),
      },
    },
    inputs,
    outputs,
  };
}

function runFacets(run: LineageRun): JsonObject {
  return {
    processing_engine: facet("1-1-1/ProcessingEngineRunFacet", {
      version: run.version,
      name: "tidegate",
    }),
    tidegate_digests: {
      _producer: TIDEGATE_PRODUCER,
      _schemaURL: `${SPEC}/2-0-2/OpenLineage.json#/$defs/RunFacet`,
      code: run.codeDigest,
      config: run.configDigest,
      generation: run.generation,
    },
    ...(run.window !== null && {
      nominalTime: facet("1-0-1/NominalTimeRunFacet", {
        nominalStartTime: instantText(run.window.from),
        nominalEndTime: instantText(run.window.to),
      }),
    }),
    ...(run.failure !== null && {
      errorMessage: facet("1-0-1/ErrorMessageRunFacet", {
        message: run.failure,
        programmingLanguage: "TypeScript",
      }),
    }),
  };
}

/** Objects, each once per version; messages, one dataset per source (O2). */
function datasetsOf(inputs: readonly LineageInput[]): JsonObject[] {
  const datasets = new Map<string, JsonObject>();
  for (const input of inputs) {
    const { object, source } = input;
    if (object !== null) {
      const namespace = `s3://${object.bucket}`;
      const facets: JsonObject = {
        ...(object.versionId !== null && { version: versionFacet(object.versionId) }),
        ...(input.hash !== null && { tidegate_content: contentFacet(input.hash) }),
      };
      datasets.set(`${namespace} ${object.key} ${object.versionId}`, {
        namespace,
        name: object.key,
        facets,
      });
    } else {
      const name = source ?? "messages";
      datasets.set(`queue ${name}`, { namespace: "sqs", name, facets: {} });
    }
  }
  return [...datasets].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, dataset]) => dataset);
}

function versionFacet(datasetVersion: string): JsonObject {
  return facet("1-0-1/DatasetVersionDatasetFacet", { datasetVersion });
}

/** A facet of our own: OpenLineage has none for the hash of a dataset's bytes. */
function contentFacet(hash: string): JsonObject {
  const _schemaURL = `${SPEC}/2-0-2/OpenLineage.json#/$defs/DatasetFacet`;
  return { _producer: TIDEGATE_PRODUCER, _schemaURL, hash };
}

function outputDataset(run: LineageRun, output: LineageOutput): JsonObject {
  const { columns } = output;
  return {
    namespace: namespaceOf(output),
    name: output.name,
    facets: {
      version: versionFacet(run.id),
      ...(columns.length > 0 && {
        schema: facet("1-2-0/SchemaDatasetFacet", {
          fields: columns.map(({ name, type }) => ({ name, type })),
        }),
      }),
    },
    outputFacets: {
      outputStatistics: facet("1-0-2/OutputStatisticsOutputDatasetFacet", {
        rowCount: output.rows,
      }),
    },
  };
}

/** The database or bucket of an output, without the path. */
function namespaceOf({ accessUrl }: LineageOutput): string {
  const match = /^([a-z][a-z0-9+.-]*):\/\/([^/?#]*)/i.exec(accessUrl);
  if (match !== null) return `${match[1]}://${match[2]}`;
  return `file:${accessUrl
    .replace(/^[a-z0-9+.-]+:/i, "")
    .split("/")
    .map(encodeSegment)
    .join("/")}`;
}

/** O3 */
function facet(schema: string, fields: JsonObject): JsonObject {
  const name = schema.slice(schema.indexOf("/") + 1);
  const _schemaURL = `${SPEC}/facets/${schema}.json#/$defs/${name}`;
  return { _producer: TIDEGATE_PRODUCER, _schemaURL, ...fields };
}
