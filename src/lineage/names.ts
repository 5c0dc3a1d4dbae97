// Names: the identifiers of runs, objects, messages and datasets in lineage documents.
//   N1. Every name is a valid absolute IRI, whatever an object key contains: segments are
//       percent-encoded as in a URL.
//   N2. A name depends on the facts alone, so two documents about the same object agree.

import { formatInstant } from "../core/encoding/rfc3339.ts";
import type { EpochMs } from "../core/units.ts";
import type {
  LineageFacts,
  LineageInput,
  LineageObject,
  LineageOutput,
  LineageRun,
} from "./lineage-facts.ts";

/** Where the terms of Tidegate are defined, and who writes the documents. */
export const TIDEGATE_TERMS = "https://tidegate.dev/ns#";
export const TIDEGATE_PRODUCER = "https://tidegate.dev";

/** Encodes what a path segment of an IRI must not contain (N1). */
export function encodeSegment(text: string): string {
  return encodeURIComponent(text).replace(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

export function objectUri({ bucket, key, versionId }: LineageObject): string {
  const path = key.split("/").map(encodeSegment).join("/");
  const version = versionId === null ? "" : `?versionId=${encodeSegment(versionId)}`;
  return `s3://${encodeSegment(bucket)}/${path}${version}`;
}

/** The message or event of an input; null if it has no id. */
export function messageUri({ eventId, messageId }: LineageInput): string | null {
  if (eventId !== null) return `urn:uuid:${encodeSegment(eventId)}`;
  return messageId === null ? null : `urn:tidegate:message:${encodeSegment(messageId)}`;
}

/** The entity that an input stands for: the object version, else the message, else the record. */
export function inputUri(input: LineageInput): string {
  if (input.object !== null) return objectUri(input.object);
  return messageUri(input) ?? `urn:tidegate:record:${encodeSegment(input.recordKey)}`;
}

export function runUri({ id }: LineageRun): string {
  return `urn:tidegate:run:${encodeSegment(id)}`;
}

export function runUriOf(id: string): string {
  return `urn:tidegate:run:${encodeSegment(id)}`;
}

export function planUri({ configDigest }: LineageRun): string {
  return `urn:tidegate:config:sha256:${configDigest}`;
}

export function codeUri({ codeDigest }: LineageRun): string {
  return `urn:tidegate:code:sha256:${codeDigest}`;
}

export function agentUri({ version }: LineageRun): string {
  return `urn:tidegate:software:${encodeSegment(version)}`;
}

/** A dataset across all runs. */
export function datasetUri({ pipeline }: LineageRun, { name }: LineageOutput): string {
  return `urn:tidegate:dataset:${encodeSegment(pipeline)}:${encodeSegment(name)}`;
}

/** A dataset as one run left it. */
export function datasetVersionUri(run: LineageRun, output: LineageOutput): string {
  return `${datasetUri(run, output)}:${encodeSegment(run.id)}`;
}

/** The algorithm and the digits of an input's hash; null without one. */
export function hashParts({ hash }: LineageInput): { algorithm: string; hex: string } | null {
  const [algorithm = "", hex] = hash?.split(":", 2) ?? [];
  return hex === undefined ? null : { algorithm, hex };
}

/** Where an output can be read, as an IRI. */
export function accessUri(output: LineageOutput): string {
  const { accessUrl, kind, name } = output;
  const base = /^[a-z][a-z0-9+.-]*:/i.test(accessUrl)
    ? encodeURI(accessUrl)
    : `file:${accessUrl.split("/").map(encodeSegment).join("/")}`;
  return kind === "table" ? `${base}#${encodeSegment(name)}` : base;
}

export function instantText(at: EpochMs): string {
  return formatInstant(at);
}

/** Each entity once, sorted by name: the order of arrival does not show. */
export function distinctInputs({ inputs }: LineageFacts): readonly LineageInput[] {
  const byUri = new Map<string, LineageInput>();
  for (const input of inputs) {
    const uri = inputUri(input);
    if (!byUri.has(uri)) byUri.set(uri, input);
  }
  const compare = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0);
  return [...byUri].sort(([a], [b]) => compare(a, b)).map(([, input]) => input);
}

/** One line that describes the dataset of an output. */
export function describeOutput(run: LineageRun, output: LineageOutput): string {
  const what = output.kind === "table" ? "rows" : "objects";
  const { pipeline, kind } = run;
  return `${output.rows} ${what} of ${output.name}, written by a ${kind} run of ${pipeline}`;
}
