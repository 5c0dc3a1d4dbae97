// Code digest: a hash of the code that a run executes, so that a record can be traced to it.
//   D1. The digest of a file covers the file and everything that it imports by a relative path. It
//       does not depend on where the folder is. Packages are not covered.
//   D2. A pipeline without a file, passed to the library, is hashed by the text of its functions.
//   D3. A digest never keeps a pipeline from starting: what cannot be read is left out.

import { readFileSync } from "node:fs";
import { dirname, relative, resolve } from "node:path";
import { sha256HexOfParts } from "../../core/encoding/hash.ts";
import { compareUtf8 } from "../../core/encoding/utf8-order.ts";

/** Files that a digest covers; far more than a pipeline has. */
const FILES_MAX = 1_000;
const IMPORT = /(?:from|import)\s*\(?\s*["'](\.{1,2}\/[^"']+)["']/g;

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
