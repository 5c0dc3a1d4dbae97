// Source file: the input of the tidy rules, read and parsed once per file.
//   F1. Rules are functions from parsed files to violations; none of them touches the disk.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path/posix";
import { parseSync } from "rolldown/utils";

/** An ESTree node from the parser; rules read the fields they need. */
export interface Node {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [field: string]: unknown;
}

export interface Comment {
  readonly kind: "Line" | "Block";
  readonly text: string;
  readonly line: number;
}

export interface Import {
  /** As written: "./units.ts", "node:fs", "vitest". */
  readonly specifier: string;
  /** True if the import does not exist at run time. */
  readonly typeOnly: boolean;
  /** True for `import(...)`, which loads the file when the call runs. */
  readonly dynamic: boolean;
  readonly line: number;
}

export interface TextFile {
  /** From the root of the repository, with forward slashes. */
  readonly path: string;
  readonly text: string;
}

export interface SourceFile extends TextFile {
  readonly program: Node;
  readonly comments: readonly Comment[];
  readonly imports: readonly Import[];
  lineOf(offset: number): number;
}

export interface Violation {
  readonly path: string;
  readonly line: number;
  readonly message: string;
}

const SKIPPED_FOLDERS = new Set(["node_modules", "dist", ".git", ".tidegate", "coverage"]);
const CODE = /\.(ts|mts|mjs|js|tsx)$/;
const TEXT = /(\.(ts|mts|mjs|js|tsx|json|md|sh|sql|yml|yaml|css|html|tf|py|txt)|\/run|LICENSE)$/;

/** Every text file of the repository, in a stable order. */
export function readRepository(root: string): TextFile[] {
  return listFiles(root, "")
    .filter((path) => TEXT.test(path))
    .map((path) => ({ path, text: readFileSync(join(root, path), "utf8") }));
}

function listFiles(root: string, folder: string): string[] {
  const entries = readdirSync(join(root, folder), { withFileTypes: true });
  entries.sort((a, b) => (a.name < b.name ? -1 : 1));
  return entries.flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return SKIPPED_FOLDERS.has(entry.name) ? [] : listFiles(root, path);
    return entry.isFile() ? [path] : [];
  });
}

export function isCode(path: string): boolean {
  return CODE.test(path);
}

export function isTest(path: string): boolean {
  return /\.test\.ts$/.test(path);
}

export function parse(path: string, text: string): SourceFile {
  const result = parseSync(path, text);
  const error = result.errors[0];
  if (error !== undefined) throw new Error(`${path} cannot be parsed: ${error.message}`);
  const lineOf = createLineFinder(text);
  return {
    path,
    text,
    program: result.program as unknown as Node,
    comments: result.comments.map(({ type, value, start }) => ({
      kind: type,
      text: value,
      line: lineOf(start),
    })),
    imports: importsOf(result.module, text, lineOf),
    lineOf,
  };
}

function importsOf(
  module: ReturnType<typeof parseSync>["module"],
  text: string,
  lineOf: (offset: number) => number,
): Import[] {
  const imports: Import[] = module.staticImports.map(({ moduleRequest, entries, start }) => ({
    specifier: moduleRequest.value,
    typeOnly: entries.length > 0 && entries.every((entry) => entry.isType),
    dynamic: false,
    line: lineOf(start),
  }));
  for (const { entries, start } of module.staticExports) {
    const from = entries.find((entry) => entry.moduleRequest)?.moduleRequest;
    if (!from) continue;
    const typeOnly = entries.every((entry) => entry.isType);
    imports.push({ specifier: from.value, typeOnly, dynamic: false, line: lineOf(start) });
  }
  for (const { moduleRequest, start } of module.dynamicImports) {
    const written = text.slice(moduleRequest.start, moduleRequest.end);
    const specifier = /^["'`](.*)["'`]$/s.exec(written)?.[1] ?? written;
    imports.push({ specifier, typeOnly: false, dynamic: true, line: lineOf(start) });
  }
  return imports;
}

function createLineFinder(text: string): (offset: number) => number {
  const starts = [0];
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) starts.push(at + 1);
  return (offset) => {
    let low = 0;
    let high = starts.length - 1;
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      if ((starts[middle] ?? 0) <= offset) low = middle;
      else high = middle - 1;
    }
    return low + 1;
  };
}

/** Calls `visit` for every node, parents first. */
export function walk(
  node: Node,
  visit: (node: Node, parent: Node | null, field: string) => void,
  parent: Node | null = null,
  field = "",
): void {
  visit(node, parent, field);
  for (const name in node) {
    const value = node[name];
    if (typeof value !== "object" || value === null) continue; // Most fields are plain values.
    if (!Array.isArray(value)) {
      if (isNode(value)) walk(value, visit, node, name);
      continue;
    }
    for (const child of value) if (isNode(child)) walk(child, visit, node, name);
  }
}

export function isNode(value: unknown): value is Node {
  return typeof value === "object" && value !== null && typeof (value as Node).type === "string";
}
