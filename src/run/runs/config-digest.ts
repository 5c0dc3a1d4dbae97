// Config digest: a hash of the settings that a run has, so that two runs can be compared.
//   F1. It covers the effective settings, and the fields of the pipeline that are data.
//   F2. No secret takes part: credentials in URLs are removed, so a new password is the same
//       configuration.

import { sha256Hex } from "../../core/encoding/hash.ts";

const CREDENTIALS = /(?<=:\/\/)[^/@\s]*@/g;
const SECRET_PARAMETERS = /([?&](?:password|secret|token)[^=&]*=)[^&]*/gi;

export function configDigest(...parts: readonly object[]): string {
  return sha256Hex(JSON.stringify(parts.map(dataOf)));
}

/** The digest of a pipeline's fields, without those that change no result. */
export function pipelineDigest(pipeline: {
  readonly concurrency: unknown;
  readonly archive?: unknown;
}): string {
  const { concurrency: _, archive: _archive, ...fields } = pipeline;
  return configDigest(fields);
}

/** A value without functions and secrets, with its fields in order. */
function dataOf(value: unknown): unknown {
  if (typeof value === "string") {
    return value.replace(CREDENTIALS, "").replace(SECRET_PARAMETERS, "$1"); // F2
  }
  if (typeof value === "bigint") return String(value);
  if (Array.isArray(value)) return value.map(dataOf);
  if (typeof value !== "object" || value === null) return value;
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) return String(value);
  const fields = Object.entries(value).filter(([, inner]) => typeof inner !== "function");
  const sorted = fields.sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(sorted.map(([name, inner]) => [name, dataOf(inner)]));
}
