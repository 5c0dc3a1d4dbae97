// Digests: hashes of the code and the settings of a run, so that a record can be traced to its
// code, and two runs can be compared.
//   D1. The digest of a file covers the file and everything that it imports by a relative path. It
//       does not depend on where the folder is. Packages are not covered.
//   D2. A pipeline without a file, passed to the library, is hashed by the text of its functions.
//   D3. A digest never keeps a pipeline from starting: what cannot be read is left out.
//   D4. The digest of settings covers those that take effect, and the fields of the pipeline that
//       are data.
//   D5. No secret takes part: credentials in URLs are removed, so a new password is the same
//       configuration.

import { readFileSync } from "node:fs";
import { dirname, relative, resolve } from "node:path";
import { sha256Hex, sha256HexOfParts } from "../../core/encoding/hash.ts";
import { compareUtf8 } from "../../core/encoding/utf8-order.ts";

/** Files that a digest covers; far more than a pipeline has. */
const FILES_MAX = 1_000;
const IMPORT = /(?:from|import)\s*\(?\s*["'](\.{1,2}\/[^"']+)["']/g;
const CREDENTIALS = /(?<=:\/\/)[^/@\s]*@/g;
const SECRET_PARAMETERS = /([?&](?:password|secret|token)[^=&]*=)[^&]*/gi;

/** The digest of a pipeline file and its local imports (D1). */
export function digestOfFile(file: string): string {
  const first = resolve(file);
  const texts = new Map<string, string>();
  const waiting = [first];
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    if (texts.has(path) || texts.size >= FILES_MAX) continue;
    const text = readText(path);
    if (text === null) continue; // D3
    texts.set(path, text);
    for (const [, name = ""] of text.matchAll(IMPORT)) waiting.push(resolve(dirname(path), name));
  }
  const folder = dirname(first);
  const files = Array.from(texts, ([path, text]) => ({ name: relative(folder, path), text }));
  const sorted = files.sort((a, b) => compareUtf8(a.name, b.name));
  return sha256HexOfParts(sorted.flatMap(({ name, text }) => [`${name}\0`, `${text}\0`]));
}

/** The digest of the functions in a value, by their texts (D2). */
export function digestOfFunctions(value: object): string {
  const texts: string[] = [];
  const visited = new Set<unknown>();
  const visit = (each: unknown, path: string): void => {
    if (typeof each === "function") texts.push(`${path}\0${each}\0`);
    if (typeof each !== "object" || each === null || visited.has(each)) return;
    visited.add(each);
    for (const [name, inner] of Object.entries(each)) visit(inner, `${path}.${name}`);
  };
  visit(value, "");
  return sha256HexOfParts(texts.sort(compareUtf8));
}

function readText(path: string): string | null {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return null;
  }
}

/** The digest of settings and fields (D4). */
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
    return value.replace(CREDENTIALS, "").replace(SECRET_PARAMETERS, "$1"); // D5
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
